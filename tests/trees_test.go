package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// tree is the files below a directory: key to content.
type tree map[string]string

// treeOf reads every file below dir, whatever its name. Anything but plain
// files and directories fails the test.
func treeOf(t *testing.T, dir string) tree {
	t.Helper()
	files := make(tree)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is a %s", name, entry.Type())
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was replaced a moment ago
		}
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("reading a tree: %v", err)
	}
	return files
}

// without returns the tree without some keys.
func (f tree) without(keys ...string) tree {
	left := maps.Clone(f)
	for _, key := range keys {
		delete(left, key)
	}
	return left
}

// differences names each key in which two trees differ, at most ten.
func (f tree) differences(other tree) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(f)) {
		switch text, there := other[key]; {
		case !there:
			found = append(found, fmt.Sprintf("%q is only in the first", key))
		case text != f[key]:
			found = append(found, fmt.Sprintf("%q has %d bytes (%s) in the first, %d (%s) in the second", key,
				len(f[key]), api.SumString(f[key]).Hex()[:8], len(text), api.SumString(text).Hex()[:8]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if _, there := f[key]; !there {
			found = append(found, fmt.Sprintf("%q is only in the second", key))
		}
	}
	if len(found) > 10 {
		found = append(found[:10], fmt.Sprintf("and %d more", len(found)-10))
	}
	return found
}

// sameTree fails the test where two trees differ in any byte.
func sameTree(t *testing.T, what string, first, second tree) {
	t.Helper()
	if found := first.differences(second); len(found) > 0 {
		t.Errorf("%s:\n  %s", what, strings.Join(found, "\n  "))
	}
}

// awaitSame waits until two machines have the same files.
func awaitSame(t *testing.T, limit time.Duration, a, b *machine) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		found := treeOf(t, a.team).differences(treeOf(t, b.team))
		if len(found) == 0 {
			return
		}
		if time.Since(begun) > limit {
			t.Fatalf("the team directories still differ after %s:\n  %s\n%s\n%s", limit, strings.Join(found, "\n  "),
				a.run("status").stdout, b.run("status").stdout)
		}
	}
}

// TestTreesDiffer proves that the comparison sees what it is for.
func TestTreesDiffer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "b.md"), "text\r\n")
	put(t, filepath.Join(dir, ".hidden"), "")
	whole := tree{"a/b.md": "text\r\n", ".hidden": ""}
	sameTree(t, "itself", treeOf(t, dir), whole)
	for name, other := range map[string]tree{
		"a byte":  {"a/b.md": "text\n", ".hidden": ""},
		"missing": whole.without(".hidden"),
		"more":    {"a/b.md": "text\r\n", ".hidden": "", "c.md": ""},
	} {
		if len(whole.differences(other)) != 1 {
			t.Errorf("%s: %q", name, whole.differences(other))
		}
	}
}

// keysOf lists the keys of a tree in order.
func keysOf(files tree) []string { return slices.Sorted(maps.Keys(files)) }
