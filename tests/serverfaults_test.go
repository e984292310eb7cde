package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestServerFaultTable checks the tests that docs/faults.md names for a server's bad
// days: each is in the sources of the package that it is said to be in, and each
// row has one.
func TestServerFaultTable(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(textOf(t, filepath.Join(root, "docs", "faults.md")), "## A server's bad days\n")
	if !found {
		t.Fatal("docs/faults.md has no section about servers")
	}
	named := regexp.MustCompile("`([a-z/0-9]+)` ((?:Test|Fuzz|Run)\\w*)")
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what |") {
			continue
		}
		rows++
		tests := named.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test: %s", line)
		}
		for _, m := range tests {
			if !hasFunction(t, m[1], m[2]) {
				t.Errorf("%s has no %s", m[1], m[2])
			}
		}
	}
	if rows < 15 {
		t.Errorf("%d rows", rows)
	}
}

// hasFunction reports whether a package's directory has a function of this name.
func hasFunction(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
