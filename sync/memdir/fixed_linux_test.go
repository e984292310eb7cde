package memdir_test

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/nstest"
)

// wantFixed places over a file that must not be replaced, and beside it: the one
// is held, stays as it is and leaves nothing behind, the other arrives.
func (w *world) wantFixed(name, content string) {
	w.Helper()
	for round := range 2 {
		out := w.place(put(w.T, name, "pulled", content), put(w.T, "beside.md", "beside", ""))
		var why *api.HeldError
		if !errors.As(out[0].Err, &why) || why.Reason != api.HeldUnreadable || !strings.HasPrefix(why.Detail, "it cannot be replaced: ") {
			w.Errorf("round %d: placing over %s: %v, want it held as unreadable", round, name, out[0].Err)
		}
		if out[1].Err != nil {
			w.Errorf("round %d: the placement beside it: %v", round, out[1].Err)
		}
	}
	w.wantContent(name, content)
	w.wantContent("beside.md", "beside")
	if got := files(w.snapshot(settled))[name]; got != api.SumString(content) {
		w.Errorf("%s is not read any more", name)
	}
	if copies := w.saved(); len(copies) != 0 {
		w.Errorf("saved copies: %v", copies)
	}
}

// TestF13ReadOnly: the exchange would not mind, but whoever took the right to
// write away meant something by it.
func TestF13ReadOnly(t *testing.T) {
	w := newWorld(t)
	w.write("kept.md", "mine")
	if err := os.Chmod(w.path("kept.md"), 0o444); err != nil {
		t.Fatal(err)
	}
	w.wantFixed("kept.md", "mine")
	w.mustPlace(put(t, "kept.md", "mine", "mine")) // what is there already is no matter
	if err := os.Chmod(w.path("kept.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.mustPlace(put(t, "kept.md", "pulled", "mine"))
	w.wantContent("kept.md", "pulled")
	w.wantClean()
}

// TestF13Immutable: chattr +i, on a file and on a directory.
func TestF13Immutable(t *testing.T) {
	w := newWorld(t)
	w.write("frozen.md", "mine")
	w.write("ice/frozen.md", "mine")
	thaw := freeze(t, w.path("frozen.md"))
	thawDir := freeze(t, w.path("ice"))
	w.wantFixed("frozen.md", "mine")
	w.wantFixed("ice/frozen.md", "mine")
	var why *api.HeldError
	if out := w.place(put(t, "ice/new.md", "new", "")); !errors.As(out[0].Err, &why) || why.Reason != api.HeldUnreadable {
		t.Errorf("placing into an immutable directory: %v", out[0].Err)
	}
	err := w.tree.Retire(t.Context(), key(t, "frozen.md"), []api.Checksum{api.SumString("mine")})
	if !errors.As(err, &why) || why.Reason != api.HeldUnreadable {
		t.Errorf("retiring an immutable file: %v", err)
	}
	thaw()
	thawDir()
	w.mustPlace(put(t, "frozen.md", "pulled", "mine"), put(t, "ice/frozen.md", "pulled", "mine"), put(t, "ice/new.md", "new", ""))
	w.wantContent("ice/frozen.md", "pulled")
	w.wantClean()
}

// freeze makes a file or directory immutable, and returns what undoes it.
func freeze(t *testing.T, name string) (thaw func()) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	const immutable = 0x10 // FS_IMMUTABLE_FL
	fd := int(f.Fd())
	before, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, before|immutable)
	}
	if err != nil {
		t.Skipf("SKIP: no immutable files here: %v", err)
	}
	thaw = func() {
		if err := unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, before); err != nil {
			t.Errorf("undoing chattr +i: %v", err)
		}
	}
	t.Cleanup(func() { _ = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, before) })
	return thaw
}

// TestF13MountPoint: a single file that is mounted from elsewhere, as containers
// have them.
func TestF13MountPoint(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	w := newWorld(t)
	w.write("mounted.md", "mine")
	nstest.Mount(t, w.path("mounted.md"), w.path("mounted.md"), "", syscall.MS_BIND, "")
	w.wantFixed("mounted.md", "mine")
}
