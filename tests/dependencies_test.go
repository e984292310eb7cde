package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestDependencies holds go.mod and docs/dependencies.md together: each direct
// module has a line that says what it saves us, and no line is left over.
func TestDependencies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, complaint := range unargued(direct(t), string(text)) {
		t.Error(complaint)
	}
}

// direct lists the modules that go.mod requires without "// indirect".
func direct(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("reading go.mod: %v", err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatalf("reading go.mod: %v", err)
	}
	var paths []string
	for _, r := range mod.Require {
		if !r.Indirect {
			paths = append(paths, r.Path)
		}
	}
	if len(paths) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	return paths
}

// line is a row of the table: | `module` | where | what it saves us |.
var line = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| [^|]{20,} \\|$")

func unargued(modules []string, document string) []string {
	var argued, complaints []string
	for _, m := range line.FindAllStringSubmatch(document, -1) {
		argued = append(argued, m[1])
	}
	for _, module := range modules {
		if !slices.Contains(argued, module) {
			complaints = append(complaints, fmt.Sprintf("docs/dependencies.md has no line for %s", module))
		}
	}
	for _, module := range argued {
		if !slices.Contains(modules, module) {
			complaints = append(complaints, fmt.Sprintf("docs/dependencies.md argues for %s, which go.mod does not require", module))
		}
	}
	return complaints
}

func TestUnargued(t *testing.T) {
	t.Parallel()
	const row = "| `example.com/a` | here | saves us writing the whole of it |\n"
	tests := []struct {
		name     string
		modules  []string
		document string
		want     int
	}{
		{"argued", []string{"example.com/a"}, row, 0},
		{"missing", []string{"example.com/a", "example.com/b"}, row, 1},
		{"left over", nil, row, 1},
		{"no argument", []string{"example.com/a"}, "| `example.com/a` | here | good |\n", 1},
	}
	for _, test := range tests {
		if got := unargued(test.modules, test.document); len(got) != test.want {
			t.Errorf("%s: %q, want %d complaints", test.name, got, test.want)
		}
	}
}
