package tests

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRetentionWithoutADaemon: what a killed process left among the saved copies
// goes by itself, on machines that only ever run sync, and on those with a daemon;
// a dry run takes nothing away.
func TestRetentionWithoutADaemon(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "text\n")
	litter := func(m *machine) string {
		t.Helper()
		roots, err := filepath.Glob(filepath.Join(m.state(), "roots", "*", "journal"))
		if err != nil || len(roots) != 1 {
			t.Fatalf("%d journals, %v", len(roots), err)
		}
		saved := filepath.Join(filepath.Dir(roots[0]), "saved")
		if err := os.MkdirAll(saved, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(saved, ".0123.json.456.tmp")
		put(t, path, "half of it")
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		remove(t, filepath.Join(filepath.Dir(roots[0]), "tended"))
		return path
	}
	p.a.sync(0)
	left := litter(p.a)
	p.a.ok("sync", "--dry-run")
	p.a.ok("status")
	if _, err := os.Stat(left); err != nil {
		t.Errorf("a dry run or a status took away what was left: %v", err)
	}
	p.a.sync(0)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("after a sync it is still there, %v", err)
	}
	left = litter(p.a)
	p.a.daemon()
	await(t, time.Minute, "the daemon to clear it", func() bool {
		time.Sleep(10 * time.Millisecond)
		_, err := os.Stat(left)
		return os.IsNotExist(err)
	})
}
