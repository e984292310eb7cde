package scanner_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/samples"
)

// shows reports whether text has a tell-tale part of value: some of its second
// half, since the first may be a public prefix.
func shows(text, value string) bool {
	middle := len(value) / 2
	return strings.Contains(text, value[middle:min(middle+12, len(value))])
}

func TestFindingsDoNotHoldTheValue(t *testing.T) {
	for _, family := range samples.Families() {
		value := family.Sample()
		findings := scan(t, "a.md", "the value: "+value+"\n")
		encoded, err := json.Marshal(findings)
		if err != nil {
			t.Fatal(err)
		}
		for _, shown := range []string{
			string(encoded), fmt.Sprint(findings), fmt.Sprintf("%+v", findings), fmt.Sprintf("%#v", findings),
		} {
			if shows(shown, value) {
				t.Errorf("%s: the value is in a finding", family.Rule)
			}
		}
	}
}

func TestErrorsDoNotHoldTheValue(t *testing.T) {
	s := scanner.New(scanner.Options{MaxBytes: 8 << 10})
	for _, family := range samples.Families() {
		value := family.Sample()
		for _, text := range []string{value + "\x00", value + "\xff", strings.Repeat(value+"\n", 9<<10/len(value)+1)} {
			_, err := s.Scan(t.Context(), value, text)
			if err == nil {
				t.Fatalf("%s: no refusal", family.Rule)
			}
			for _, shown := range []string{err.Error(), fmt.Sprintf("%v", err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
				if shows(shown, value) {
					t.Errorf("%s: the value is in the error", family.Rule)
				}
			}
		}
	}
}

// childScans makes this test binary scan every sample with gitleaks' logger
// wide open at the start, as if a flag or a library had turned it on.
const childScans = "TEAMMEMD_TEST_CHILD_SCANS"

func TestNothingIsLogged(t *testing.T) {
	if os.Getenv(childScans) != "" {
		const trace = -1
		logging.Logger = logging.Logger.Level(trace)
		for _, family := range samples.Families() {
			scan(t, "a.md", "the value: "+family.Sample()+" # gitleaks:allow\n")
		}
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNothingIsLogged$", "-test.count=1")
	child.Env = append(os.Environ(), childScans+"=1")
	output, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("the child failed: %v", err)
	}
	for _, family := range samples.Families() {
		if shows(string(output), family.Sample()) {
			t.Errorf("%s: the value was printed", family.Rule)
		}
	}
	if said := bytes.Fields(output); len(said) == 0 || string(said[0]) != "PASS" {
		t.Errorf("the child printed %d words before its verdict", len(said))
	}
}
