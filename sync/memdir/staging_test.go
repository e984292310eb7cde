package memdir_test

import (
	"context"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

func TestCapabilities(t *testing.T) {
	w := newWorld(t)
	got, err := w.tree.Capabilities()
	if err != nil {
		t.Fatal(err)
	}
	if got.Staging != w.state.Staging() || got.Beside {
		t.Errorf("%+v, want staging in %s", got, w.state.Staging())
	}
	without := newWorld(t, func(o *memdir.Options) { o.WithoutExchange = true })
	if got, err := without.tree.Capabilities(); err != nil || got.Exchange {
		t.Errorf("%+v, %v, want no exchange", got, err)
	}
	w.wantClean()
}

// besideWorld has its staging directory beside the root.
func besideWorld(t *testing.T, staging string) *world {
	t.Helper()
	return newWorld(t, func(o *memdir.Options) { o.Staging = staging })
}

func TestStagingBesideTheRoot(t *testing.T) { testBeside(t, "") }

func TestStagingOnAnotherFileSystem(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "teammemd-test-") //nolint:usetesting // it has to be there
	if err != nil {
		t.Skipf("SKIP: no second file system: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	testBeside(t, shm)
}

func testBeside(t *testing.T, staging string) {
	t.Helper()
	w := besideWorld(t, staging)
	c, err := w.tree.Capabilities()
	if err != nil {
		t.Fatal(err)
	}
	if !c.Beside {
		t.Skip("SKIP: the second directory is on the same file system")
	}
	if filepath.Dir(c.Staging) != filepath.Dir(w.root) || !strings.HasPrefix(filepath.Base(c.Staging), ".teammemd-") {
		t.Errorf("staging in %s", c.Staging)
	}
	w.write("a.md", "edited meanwhile")
	w.write("b.md", "base")
	w.mustPlace(put(t, "a.md", "new", "old"), put(t, "dir/c.md", "created", ""))
	if err := w.tree.Retire(t.Context(), key(t, "b.md"), []api.Checksum{api.SumString("base")}); err != nil {
		t.Fatal(err)
	}
	w.wantContent("a.md", "new")
	w.wantContent("dir/c.md", "created")
	diff(t, "saved copies", w.saved(), map[string][]string{"a.md": {"edited meanwhile"}, "b.md": {"base"}})
	w.wantClean()
}

// leave puts a file into the staging directory as a crash would.
func (w *world) leave(name, content string) {
	w.Helper()
	if err := os.MkdirAll(w.state.Staging(), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.state.Staging(), name), []byte(content), 0o600); err != nil {
		w.Fatal(err)
	}
}

func TestRecover(t *testing.T) {
	w := newWorld(t, func(o *memdir.Options) {
		o.Known = func(api.Key) []api.Checksum { return []api.Checksum{api.SumString("known")} }
	})
	name := func(kind, content, key string) string {
		encoded := base64.RawURLEncoding.EncodeToString([]byte(key))
		if kind == "d" {
			return "d-abcdefghijkl-" + encoded
		}
		return "x-abcdefghijkl-" + api.SumString(content).Hex() + "-" + encoded
	}
	w.write("taken.md", "in the tree")
	w.leave("w-abcdefghijkl", "half a fi")
	w.leave(name("x", "wanted", "1.md"), "wanted")            // never entered
	w.leave(name("x", "wanted", "2.md"), "displaced")         // came out
	w.leave(name("x", "wanted", "binary.md"), "\x00\xff")     // came out, and is no text
	w.leave(name("x", "wanted", "3.md"), "known")             // came out, the server has it
	w.leave(name("x", "wanted", "dir/ü-_.md")+".b", "backup") // an unfinished exchange of Windows
	w.leave(name("d", "", "gone.md"), "moved out")            // goes back
	w.leave(name("d", "", "taken.md"), "moved out, replaced") // cannot
	w.leave(name("d", "", "no/dir.md"), "no place")           // cannot
	for range 2 {
		if err := w.tree.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.wantContent("gone.md", "moved out")
		w.wantContent("taken.md", "in the tree")
		diff(t, "saved copies", w.saved(), map[string][]string{
			"2.md": {"displaced"}, "binary.md": {"\x00\xff"}, "dir/ü-_.md": {"backup"}, "taken.md": {"moved out, replaced"}, "no/dir.md": {"no place"},
		})
		w.wantClean()
	}
}

func TestRecoverKeepsWhatItCannotSave(t *testing.T) {
	w := newWorld(t, failingSave)
	name := "x-abcdefghijkl-" + api.SumString("wanted").Hex() + "-" + base64.RawURLEncoding.EncodeToString([]byte("a.md"))
	w.leave(name, "displaced")
	w.leave("a file of somebody else", "untouched")
	if err := w.tree.Recover(t.Context()); err == nil {
		t.Error("no error although nothing could be saved")
	}
	for _, name := range []string{name, "a file of somebody else"} {
		if _, err := os.Stat(filepath.Join(w.state.Staging(), name)); err != nil {
			t.Errorf("lost: %v", err)
		}
	}
}

// TestSnapshotSavesWhatWasLeft: a text that could not be saved after a crash is
// saved by a later scan, also where nothing is to be placed.
func TestSnapshotSavesWhatWasLeft(t *testing.T) {
	full := true
	w := newWorld(t, func(o *memdir.Options) {
		save := o.Save
		o.Save = func(ctx context.Context, saved api.SavedCopy) (string, error) {
			if full {
				return "", syscall.ENOSPC
			}
			return save(ctx, saved)
		}
	})
	w.leave("x-abcdefghijkl-"+api.SumString("wanted").Hex()+"-"+base64.RawURLEncoding.EncodeToString([]byte("a.md")), "displaced")
	if err := w.tree.Recover(t.Context()); err == nil {
		t.Fatal("no error although nothing could be saved")
	}
	full = false
	if _, err := w.tree.Snapshot(t.Context(), api.Reading{}); err != nil {
		t.Fatal(err)
	}
	diff(t, "saved copies", w.saved(), map[string][]string{"a.md": {"displaced"}})
	w.wantClean()
}

func TestLongKeys(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat(strings.Repeat("long", 45)+"/", 5) + "a.md"
	w.mustPlace(put(t, long, "one", ""))
	w.mustPlace(put(t, long, "two", "one"))
	w.wantContent(long, "two")
	w.wantClean()
	if err := w.tree.Retire(t.Context(), key(t, long), []api.Checksum{api.SumString("two")}); err != nil {
		t.Fatal(err)
	}
	diff(t, "saved copies", w.saved(), map[string][]string{long: {"two"}})
	w.wantClean()
}

func TestManyPlacements(t *testing.T) {
	w := newWorld(t)
	var placements []api.Placement
	want := map[string]string{}
	for i := range 300 {
		name := strings.Repeat("d/", i%5) + strings.Repeat("x", i%40+1) + strings.Repeat("y", i/40) + ".md"
		if _, ok := want[name]; ok {
			continue
		}
		want[name] = strings.Repeat("content ", i)
		placements = append(placements, put(t, name, want[name], ""))
	}
	w.mustPlace(placements...)
	diff(t, "files", files(w.snapshot(settled)), sums(want))
	w.wantClean()
}
