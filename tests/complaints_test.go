package tests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// complains sees that a command ended with a code and said why in one line, with
// at most one line on what to do.
func complains(t *testing.T, o outcome, code int, wants ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("%q: exit code %d, want %d\n%s%s", o.args, o.code, code, o.stdout, o.stderr)
		return
	}
	for _, fault := range faultsOf(o.stderr) {
		t.Errorf("%q: %s:\n%s%s", o.args, fault, o.stdout, o.stderr)
	}
	var missing []string
	for _, want := range wants {
		if !strings.Contains(o.stderr, want) {
			missing = append(missing, want)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%q does not say %q:\n%s", o.args, missing, o.stderr)
	}
}

// faultsOf says what is wrong with a complaint.
func faultsOf(stderr string) []string {
	var faults []string
	lines, hints := 0, 0
	for line := range strings.Lines(stderr) {
		line = strings.TrimRight(line, "\n")
		switch message, ours := strings.CutPrefix(line, "teammemd: "); {
		case ours && strings.TrimSpace(message) != "":
			lines++
		case strings.HasPrefix(line, "hint: "):
			hints++
		default:
			faults = append(faults, "a line that is neither message nor hint")
		}
		if len(line) > 2000 {
			faults = append(faults, "a line that nobody reads to its end")
		}
	}
	if lines != 1 {
		faults = append(faults, "not one line 'teammemd: ...'")
	}
	if hints > 1 {
		faults = append(faults, "more than one hint")
	}
	return faults
}

func TestFaultsOf(t *testing.T) {
	t.Parallel()
	tests := map[string]int{
		"teammemd: no\n":                         0,
		"teammemd: no\nhint: do\n":               0,
		"":                                       1,
		"teammemd: \n":                           2,
		"teammemd: no\nteammemd: no\n":           1,
		"teammemd: no\nhint: a\nhint: b\n":       1,
		"teammemd: no\npanic: x\n":               1,
		"level=INFO msg=x\nteammemd: no\n":       1,
		"teammemd: " + strings.Repeat("x", 2000): 1,
		"teammemd: no\n\ngoroutine 1 [running]":  2,
	}
	got := make(map[string]int)
	for text := range tests {
		got[text] = len(faultsOf(text))
	}
	if diff := cmp.Diff(tests, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
