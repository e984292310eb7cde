package tests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	bugs "github.com/teammem/teammemd/internal/planted"
)

// TestNoMistakeIsShipped: without the tag "planted" the compiler leaves out every
// mistake that the proof makes, with the variable that would put it in.
func TestNoMistakeIsShipped(t *testing.T) {
	t.Parallel()
	shipped := contents(t, program(t))
	if bytes.Contains(shipped, []byte(bugs.Variable)) {
		t.Errorf("the program knows %s", bugs.Variable)
	}
	for _, bug := range bugs.Bugs() {
		if strings.Contains(string(bug), "-") && bytes.Contains(shipped, []byte(bug)) {
			t.Errorf("the program knows the mistake %s", bug)
		}
	}
}

// TestMistakesCanBeSeen proves that the test above can fail: with the tag, the
// engine is built with them.
func TestMistakesCanBeSeen(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "sync.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "planted", "-o", out, "./sync")
	cmd.Dir = root
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	built := contents(t, out)
	for _, text := range []string{bugs.Variable, string(bugs.NotFoundIsEmpty)} {
		if !bytes.Contains(built, []byte(text)) {
			t.Errorf("the tagged build does not have %q: strings are hidden from this test", text)
		}
	}
}

func contents(t *testing.T, name string) []byte {
	t.Helper()
	all, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
