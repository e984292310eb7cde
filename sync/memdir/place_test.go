package memdir_test

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

func TestPlace(t *testing.T) {
	for _, mode := range []struct {
		name    string
		without bool
	}{{"exchange", false}, {"without exchange", true}} {
		t.Run(mode.name, func(t *testing.T) {
			testPlace(t, func(o *memdir.Options) { o.WithoutExchange = mode.without })
		})
	}
}

func testPlace(t *testing.T, mode func(*memdir.Options)) {
	t.Helper()
	t.Run("new", func(t *testing.T) {
		w := newWorld(t, mode)
		when := time.Date(2024, 3, 1, 12, 30, 15, 0, time.UTC)
		p := put(t, "deep/er/a.md", "hello", "")
		p.Modified = when
		w.mustPlace(p)
		w.wantContent("deep/er/a.md", "hello")
		info, err := os.Stat(w.path("deep/er/a.md"))
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().Equal(when) {
			t.Errorf("modified %v, want the server's %v", info.ModTime(), when)
		}
		w.wantClean()
	})
	t.Run("replaces what is known", func(t *testing.T) {
		w := newWorld(t, mode)
		w.write("a.md", "old")
		if err := os.Chmod(w.path("a.md"), 0o640); err != nil {
			t.Fatal(err)
		}
		w.mustPlace(put(t, "a.md", "new", "old"))
		w.wantContent("a.md", "new")
		info, err := os.Stat(w.path("a.md"))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o640 {
			t.Errorf("mode %v, want that of the file before, 0640", got)
		}
		diff(t, "saved copies", w.saved(), map[string][]string{})
		w.wantClean()
	})
	t.Run("saves what is unknown", func(t *testing.T) {
		w := newWorld(t, mode)
		w.write("a.md", "edited meanwhile")
		out := w.place(put(t, "a.md", "new", "old"))
		if out[0].Err != nil || out[0].Saved == "" {
			t.Errorf("outcome %+v, want a saved copy", out[0])
		}
		w.wantContent("a.md", "new")
		diff(t, "saved copies", w.saved(), map[string][]string{"a.md": {"edited meanwhile"}})
		w.wantClean()
	})
	t.Run("absent expected, present", func(t *testing.T) {
		w := newWorld(t, mode)
		w.write("a.md", "mine")
		out := w.place(put(t, "a.md", "theirs", ""))
		if !errors.Is(out[0].Err, api.ErrUnsettled) {
			t.Errorf("outcome %v, want %v", out[0].Err, api.ErrUnsettled)
		}
		w.wantContent("a.md", "mine")
		w.wantClean()
	})
	t.Run("present expected, absent", func(t *testing.T) {
		w := newWorld(t, mode)
		out := w.place(put(t, "dir/a.md", "theirs", "old"))
		if !errors.Is(out[0].Err, api.ErrUnsettled) {
			t.Errorf("outcome %v, want %v", out[0].Err, api.ErrUnsettled)
		}
		if _, err := os.Lstat(w.path("dir")); err == nil {
			t.Error("a directory was made for nothing")
		}
		w.wantClean()
	})
	t.Run("identical is not rewritten", func(t *testing.T) {
		w := newWorld(t, mode)
		w.write("a.md", "same")
		w.age("a.md", time.Hour)
		before, err := os.Stat(w.path("a.md"))
		if err != nil {
			t.Fatal(err)
		}
		p := put(t, "a.md", "same", "old")
		p.Modified = time.Now().Add(-time.Minute)
		w.mustPlace(p, put(t, "b.md", "other", ""))
		after, err := os.Stat(w.path("a.md"))
		if err != nil {
			t.Fatal(err)
		}
		if !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
			t.Error("an identical file was rewritten")
		}
	})
	t.Run("a save that failed is taken back", func(t *testing.T) {
		w := newWorld(t, mode, failingSave)
		w.write("a.md", "edited meanwhile")
		out := w.place(put(t, "a.md", "new", "old"))
		if !errors.Is(out[0].Err, errDisk) {
			t.Errorf("outcome %v, want %v", out[0].Err, errDisk)
		}
		w.wantContent("a.md", "edited meanwhile")
		w.wantClean()
	})
}
