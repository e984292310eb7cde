package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/internal/planted"
)

const top = "../.."

// TestEveryMistakeIsGuarded: the table is complete, and SYNC.md's count is met.
func TestEveryMistakeIsGuarded(t *testing.T) {
	t.Parallel()
	rows := map[planted.Bug]int{}
	for _, m := range mistakes {
		rows[m.bug]++
		if len(m.guards) == 0 || m.breaks == "" {
			t.Errorf("%s has no guard, or nothing that it breaks", m.bug)
		}
	}
	for _, bug := range planted.Bugs() {
		if rows[bug] != 1 {
			t.Errorf("%s has %d rows, want 1", bug, rows[bug])
		}
	}
	if len(mistakes) != len(planted.Bugs()) || len(mistakes) < 20 {
		t.Errorf("%d rows for %d mistakes, want as many, and 20 at least", len(mistakes), len(planted.Bugs()))
	}
}

// TestGuardsExist: a renamed test does not leave its mistake unguarded.
func TestGuardsExist(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	for _, suite := range suitesOf(mistakes) {
		var tests []string
		files, err := filepath.Glob(filepath.Join(top, suite, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for _, match := range declared.FindAllStringSubmatch(read(t, file), -1) {
				tests = append(tests, match[1])
			}
		}
		for _, m := range mistakes {
			for _, g := range m.guards {
				for part := range strings.SplitSeq(g.tests, "|") {
					if pattern := regexp.MustCompile(part); g.suite == suite && !slices.ContainsFunc(tests, pattern.MatchString) {
						t.Errorf("%s: no test of %s matches %q", m.bug, suite, part)
					}
				}
			}
		}
	}
}

// TestEveryMistakeIsPlanted: each constant stands in production code.
func TestEveryMistakeIsPlanted(t *testing.T) {
	t.Parallel()
	constants := regexp.MustCompile(`(?m)^\t(\w+) Bug = `).FindAllStringSubmatch(read(t, filepath.Join(top, "internal/planted/planted.go")), -1)
	if len(constants) != len(planted.Bugs()) {
		t.Fatalf("%d constants, %d mistakes", len(constants), len(planted.Bugs()))
	}
	var code strings.Builder
	for _, dir := range []string{"sync", "sync/memdir", "sync/statedir", "sync/remote", "watcher", "cmd/teammemd"} {
		files, err := filepath.Glob(filepath.Join(top, dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				code.WriteString(read(t, file))
			}
		}
	}
	for _, constant := range constants {
		if !strings.Contains(code.String(), "planted.In(planted."+constant[1]+")") {
			t.Errorf("%s is planted nowhere", constant[1])
		}
	}
}

// TestDocument: the table of the document is the one that the program prints.
func TestDocument(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join(top, "docs/proof.md"))
	if table := markdown(mistakes); !strings.Contains(text, table) {
		t.Errorf("docs/proof.md has another table than \"go run ./tests/teeth -markdown\" prints:\n%s", table)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, output string
		ok           bool
		want         verdict
	}{
		{"all well", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\n", true, verdict{end: passed}},
		{"an assertion", "=== RUN   TestA\n    a_test.go:7: bad\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", false, verdict{end: bitten, test: "TestA"}},
		{"a seed", "    world_test.go:36: seed 12, options {}: lost\n--- FAIL: TestHistories (0.35s)\nFAIL\n", false, verdict{end: bitten, test: "TestHistories", seed: "12"}},
		{"a panic", "--- FAIL: TestA (0.00s)\npanic: runtime error [recovered]\n", false, verdict{end: died}},
		{"the time limit", "panic: test timed out after 3m0s\n", false, verdict{end: died}},
		{"a signal", "=== RUN   TestA\n", false, verdict{end: died}},
		{"a skip", "=== RUN   TestA\n    a_test.go:7: SKIP: no strace\n--- SKIP: TestA (0.00s)\nPASS\n", true, verdict{end: skipped, test: "TestA"}},
		{"a renamed test", "testing: warning: no tests to run\nPASS\n", true, verdict{end: empty}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.want.output = test.output
			if diff := cmp.Diff(test.want, judge(test.output, test.ok), cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	if got, err := choose(""); err != nil || len(got) != len(mistakes) {
		t.Errorf("without a pattern: %d mistakes, error %v", len(got), err)
	}
	if got, err := choose("^rename-over$"); err != nil || len(got) != 1 || got[0].bug != planted.RenameOver {
		t.Errorf("by name: %v, error %v", got, err)
	}
	for _, only := range []string{"no such mistake", "("} {
		if _, err := choose(only); err == nil {
			t.Errorf("-only %q was taken", only)
		}
	}
}
