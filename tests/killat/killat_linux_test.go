package killat_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/tests/killat"
)

// script writes one file after the other, and ends with a code of its own.
const script = `printf 1 >one; printf 2 >two; exit 7`

func run(t *testing.T, dir string, n int, every bool) killat.End {
	t.Helper()
	end, err := killat.Program{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Dir: dir, Every: every}.Before(n)
	if errors.Is(err, killat.ErrNoTrace) {
		t.Skipf("SKIP: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// files returns what the script has written: absent as "-".
func files(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"one", "two"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
			text = []byte("-")
		case err != nil:
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "[%s]", text)
	}
	return all.String()
}

// TestBefore kills before each call that changes something: each state of the disk
// is seen once, in order.
func TestBefore(t *testing.T) {
	t.Parallel()
	want := []struct{ call, files string }{
		{"openat", "[-][-]"},
		{"write", "[][-]"},
		{"openat", "[1][-]"},
		{"write", "[1][]"},
		{"exit_group", "[1][2]"},
	}
	for i, w := range want {
		dir := t.TempDir()
		if end := run(t, dir, i+1, false); !end.Killed || end.Call != w.call || end.Calls != i+1 || files(t, dir) != w.files {
			t.Errorf("death %d: %+v with %s, want before %s with %s", i+1, end, files(t, dir), w.call, w.files)
		}
	}
	for _, n := range []int{0, len(want) + 1} {
		dir := t.TempDir()
		if end := run(t, dir, n, false); end != (killat.End{Calls: len(want), Code: 7}) || files(t, dir) != "[1][2]" {
			t.Errorf("undisturbed (%d): %+v with %s", n, end, files(t, dir))
		}
	}
	if end := run(t, t.TempDir(), 0, true); end.Calls <= 2*len(want) || end.Code != 7 {
		t.Errorf("all calls: %+v", end)
	}
	if _, err := (killat.Program{Path: filepath.Join(t.TempDir(), "none")}).Before(1); !errors.Is(err, killat.ErrNoTrace) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestOthersChildren runs several at a time, and children that are not traced.
func TestOthersChildren(t *testing.T) {
	t.Parallel()
	var hands sync.WaitGroup
	for range 4 {
		dirs := make([]string, 10)
		for i := range dirs {
			dirs[i] = t.TempDir()
		}
		hands.Go(func() {
			for i, dir := range dirs {
				end, err := killat.Program{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir}.Before(i)
				if errors.Is(err, killat.ErrNoTrace) {
					return // the other test says so
				}
				if err != nil || end.Killed != (i > 0 && i <= 5) {
					t.Errorf("death %d: %+v, %v", i, end, err)
				}
			}
		})
		hands.Go(func() {
			for range 20 {
				var exit *exec.ExitError
				if err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "exit 3").Run(); !errors.As(err, &exit) || exit.ExitCode() != 3 {
					t.Errorf("a child that nobody traces ends with %v", err)
				}
			}
		})
	}
	hands.Wait()
}
