package tests

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateFaults = flag.Bool("update-faults", false, "write the column of tests in docs/faults.md")

// faults is the number of rows of the catalogue.
const faults = 30

// column is the place of the tests in a row of the table, counted from the first
// bar.
const column = 4

// TestFaultTable compares docs/faults.md with the tests whose names begin with
// the number of a fault: each fault has a row and a test, and each such test is in
// its row.
func TestFaultTable(t *testing.T) {
	t.Parallel()
	found := faultTests(t)
	name := filepath.Join(root, "docs", "faults.md")
	text, complaints := faultTable(read(t, "docs", "faults.md"), found)
	if *updateFaults {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, complaint := range complaints {
		t.Errorf("docs/faults.md: %s", complaint)
	}
	for fault := 1; fault <= faults; fault++ {
		if found[fault] == nil {
			t.Errorf("F%02d has no test", fault)
		}
	}
	if len(found) > faults || found[0] != nil {
		t.Errorf("tests of faults that are not in the catalogue: %v", slices.Sorted(maps.Keys(found)))
	}
}

// faultTable returns the table with its column of tests as it should be, and
// what is wrong with it as it is.
func faultTable(text string, found map[int][]string) (updated string, complaints []string) {
	lines := strings.Split(text, "\n")
	next := 1
	for i, line := range lines {
		cells := strings.Split(line, "|")
		var fault int
		if len(cells) < 2 {
			continue
		}
		if _, err := fmt.Sscan(cells[1], &fault); err != nil {
			continue
		}
		if fault != next || len(cells) != 7 {
			complaints = append(complaints, fmt.Sprintf("row %d has %d cells and stands where row %d belongs", fault, len(cells)-2, next))
			continue
		}
		next++
		want := strings.Join(found[fault], ", ")
		if got := strings.TrimSpace(cells[column]); got != want {
			complaints = append(complaints, fmt.Sprintf("row %d names the tests %q, want %q: run the command above the table", fault, got, want))
		}
		cells[column] = " " + want + " "
		lines[i] = strings.ReplaceAll(strings.Join(cells, "|"), "|  |", "| |")
	}
	if next != faults+1 {
		complaints = append(complaints, fmt.Sprintf("%d rows, want %d", next-1, faults))
	}
	return strings.Join(lines, "\n"), complaints
}

// faultTests returns the tests of each fault, as "`package` Test", sorted.
func faultTests(t *testing.T) map[int][]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (TestF(\d\d)\w*)\(`)
	found := make(map[int][]string)
	for _, file := range sources(t) {
		if !file.isTest() {
			continue
		}
		for _, m := range declared.FindAllStringSubmatch(read(t, file.file), -1) {
			var fault int
			_, _ = fmt.Sscanf(m[2], "%d", &fault) // two digits
			found[fault] = append(found[fault], fmt.Sprintf("`%s` %s", file.dir(), m[1]))
		}
	}
	for _, tests := range found {
		slices.Sort(tests)
	}
	return found
}

// TestFaultTableCanFail proves that the comparison sees what it is for.
func TestFaultTableCanFail(t *testing.T) {
	t.Parallel()
	found := make(map[int][]string)
	var rows strings.Builder
	for fault := 1; fault <= faults; fault++ {
		found[fault] = []string{fmt.Sprintf("`tests` TestF%02d", fault)}
		fmt.Fprintf(&rows, "| %d | a fault | handling | %s | |\n", fault, found[fault][0])
	}
	good := "| F | fault |\n|---|---|\n" + rows.String()
	if text, complaints := faultTable(good, found); text != good || len(complaints) > 0 {
		t.Errorf("a good table: %q", complaints)
	}
	for name, bad := range map[string]string{
		"a row is missing":     strings.Replace(good, "| 7 | a fault | handling | `tests` TestF07 | |\n", "", 1),
		"the last is missing":  strings.Replace(good, "| 30 | a fault | handling | `tests` TestF30 | |\n", "", 1),
		"a test is missing":    strings.Replace(good, "`tests` TestF07", "", 1),
		"a test is another":    strings.Replace(good, "TestF07", "TestF08", 1),
		"a test is elsewhere":  strings.Replace(good, "`tests` TestF07", "`sync` TestF07", 1),
		"a test is made up":    strings.Replace(good, "`tests` TestF07", "`tests` TestF07, `tests` TestF07b", 1),
		"rows change places":   strings.Replace(strings.Replace(good, "| 7 |", "| x |", 1), "| 8 |", "| 7 |", 1),
		"a cell is left out":   strings.Replace(good, "| 9 | a fault |", "| 9 |", 1),
		"there are no rows":    "nothing",
		"a row stands too far": good + "| 31 | a fault | handling | | |\n",
	} {
		if _, complaints := faultTable(bad, found); len(complaints) == 0 {
			t.Errorf("%s: no complaint", name)
		}
	}
}
