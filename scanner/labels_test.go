package scanner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/cputime"
)

// TestLabelsWithoutValuesAreCheap scans texts that have a label in every line and
// no value, beside as much text without labels, in the same run: what a label costs does not depend on the machine then.
func TestLabelsWithoutValuesAreCheap(t *testing.T) {
	if cputime.Used() == 0 {
		t.Skip("SKIP: this system does not tell processor time")
	}
	const size = 250_000
	s := scanner.New(scanner.Options{Deadline: time.Minute})
	if err := s.Canary(t.Context()); err != nil {
		t.Fatal(err)
	}
	cost := func(line string) time.Duration {
		text, least := strings.Repeat(line, size/len(line)), time.Hour
		for range 3 {
			before := cputime.Used()
			if _, err := s.Scan(t.Context(), "a.md", text); err != nil {
				t.Fatal(err)
			}
			least = min(least, cputime.Used()-before)
		}
		return least
	}
	// The ruler has a value of every kind, but no label: its words are all looked
	// at, and no expression runs.
	ruler := cost("see Release-Notes_12.4b and the GitHub2 page, e.g. {some} (other), 'third': \"x\"\n")
	for _, line := range []string{"password:\n", "The API token and password of the host is:\n", "password" + strings.Repeat(" ", 56)} {
		const most = 25 // times the ruler; without the look at words before an expression runs it is over 100, without the sieves over 50
		if took := cost(line); took > most*ruler {
			t.Errorf("%d KB of %q take %v, more than %d times the %v of prose", size/1000, line, took, most, ruler)
		} else {
			t.Logf("%q: %v, %.1f times %v", line, took, float64(took)/float64(ruler), ruler)
		}
	}
}
