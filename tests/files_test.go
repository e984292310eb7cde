package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// put writes a file and the directories above it.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// replace saves a file as careful editors do: written beside, renamed over.
func replace(t *testing.T, name, text string) {
	t.Helper()
	beside := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+".new")
	put(t, beside, text)
	if err := os.Rename(beside, name); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// everything lists all files below a directory, but for the program's own.
func everything(t *testing.T, dir string, own ...string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(own, name) {
			return fs.SkipDir
		}
		names = append(names, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// sized is Markdown of exactly n bytes in which the scanner finds nothing.
func sized(n int) string {
	return strings.Repeat("All of this is plain prose about a plain thing.\n", n/48+1)[:n]
}
