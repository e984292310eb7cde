package memdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

// another opens a second tree on a path to the same directory.
func (w *world) another(root string) *memdir.Tree {
	w.Helper()
	tree, err := memdir.Open(memdir.Options{Root: root, Staging: filepath.Join(w.TempDir(), "staging"), Save: w.state.Save})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { tree.Close() })
	return tree
}

func needLocks(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: directories cannot be locked on Windows")
	}
}

func TestLockThroughALink(t *testing.T) {
	needLocks(t)
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.root, link); err != nil {
		t.Fatal(err)
	}
	if err := w.tree.Lock(); err != nil {
		t.Fatal(err)
	}
	second := w.another(link)
	err := second.Lock()
	if !errors.Is(err, api.ErrAlreadyRunning) {
		t.Fatalf("a second lock of one directory gives %v, want %v", err, api.ErrAlreadyRunning)
	}
	if runtime.GOOS == "linux" && !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) {
		t.Errorf("the holder is not named: %v", err)
	}
	if _, err := second.Snapshot(t.Context(), settled); !errors.Is(err, api.ErrAlreadyRunning) {
		t.Errorf("a scan without the lock gives %v, want %v", err, api.ErrAlreadyRunning)
	}
	if err := w.tree.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Snapshot(t.Context(), settled); err != nil {
		t.Errorf("a scan after the lock was given back: %v", err)
	}
	if err := w.tree.Lock(); !errors.Is(err, api.ErrAlreadyRunning) {
		t.Errorf("the scan did not take the lock: %v", err)
	}
}

func TestLockFollowsTheRoot(t *testing.T) {
	needLocks(t)
	w := newWorld(t)
	if err := w.tree.Lock(); err != nil {
		t.Fatal(err)
	}
	away := w.root + ".away"
	if err := os.Rename(w.root, away); err != nil {
		t.Fatal(err)
	}
	second := w.another(w.root)
	if err := second.Lock(); err != nil {
		t.Fatalf("locking a root that is missing: %v", err)
	}
	if err := os.Mkdir(w.root, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := w.tree.Snapshot(t.Context(), settled); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Snapshot(t.Context(), settled); !errors.Is(err, api.ErrAlreadyRunning) {
		t.Errorf("a scan of a new directory that the other has gives %v, want %v", err, api.ErrAlreadyRunning)
	}
	if err := w.another(away).Lock(); err != nil {
		t.Errorf("the directory that was left is still locked: %v", err)
	}
}

func TestUnlockedTreesDoNotMind(t *testing.T) {
	w := newWorld(t)
	if err := w.tree.Lock(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.another(w.root).Snapshot(t.Context(), settled); err != nil {
		t.Errorf("a look without Lock: %v", err)
	}
}
