package memdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/nstest"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

// TestF12FullDisk: nothing fits any more, first for the contents, then only for
// the saved copies. The old contents stay, nothing is left over, and when there
// is room again the same calls succeed.
func TestF12FullDisk(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	base := t.TempDir()
	nstest.Mount(t, "tmpfs", base, "tmpfs", 0, "size=1m")
	root := filepath.Join(base, "team")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	stateBase := t.TempDir()
	nstest.Mount(t, "tmpfs", stateBase, "tmpfs", 0, "size=1m")
	state, err := statedir.Open(stateBase)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: root, state: state}
	if w.tree, err = memdir.Open(memdir.Options{Root: root, Save: state.Save}); err != nil {
		t.Fatal(err)
	}
	w.write("known.md", "base")
	w.write("edited.md", "edited")
	w.write("retired.md", "retired")
	large := strings.Repeat("pulled ", 2_000)
	placements := []api.Placement{put(t, "known.md", large, "base"), put(t, "edited.md", large, "older"), put(t, "dir/new.md", large, "")}
	wantFailure := func(when string, err error) {
		t.Helper()
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: %v, want ENOSPC", when, err)
		}
	}
	wantOld := func() {
		t.Helper()
		w.wantContent("edited.md", "edited")
		w.wantContent("retired.md", "retired")
		diff(t, "saved copies", w.saved(), map[string][]string{})
	}

	free := nstest.Fill(t, base)
	for i, placed := range w.place(placements...) {
		wantFailure("placing "+placements[i].Key.String(), placed.Err)
	}
	wantOld()
	w.wantContent("known.md", "base")
	free()
	w.wantCleanBut("team")

	free = nstest.Fill(t, stateBase)
	wantFailure("placing over unknown text", w.place(placements[1])[0].Err)
	wantFailure("retiring", w.tree.Retire(t.Context(), key(t, "retired.md"), []api.Checksum{api.SumString("retired")}))
	wantOld()
	free()

	w.mustPlace(placements...)
	if err := w.tree.Retire(t.Context(), key(t, "retired.md"), []api.Checksum{api.SumString("retired")}); err != nil {
		t.Fatal(err)
	}
	diff(t, "saved copies", w.saved(), map[string][]string{"edited.md": {"edited"}, "retired.md": {"retired"}})
	if err := w.tree.Recover(t.Context()); err != nil {
		t.Error(err)
	}
	w.wantCleanBut("team")
}

// wantCleanBut checks that the directory around the tree holds only one name.
func (w *world) wantCleanBut(name string) {
	w.Helper()
	entries, err := os.ReadDir(filepath.Dir(w.root))
	if err != nil {
		w.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() != name {
			w.Errorf("left over: %s", entry.Name())
		}
	}
}

// TestStagingBehindABindMount: the staging directory has the root's device
// number, but no rename leads from one to the other.
func TestStagingBehindABindMount(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	w := newWorld(t)
	if err := os.MkdirAll(w.state.Staging(), 0o700); err != nil {
		t.Fatal(err)
	}
	nstest.Mount(t, w.state.Staging(), w.state.Staging(), "", syscall.MS_BIND, "")
	w.write("a.md", "edited")
	w.write("b.md", "base")
	if err := w.tree.Retire(t.Context(), key(t, "b.md"), []api.Checksum{api.SumString("base")}); err != nil {
		t.Fatal(err)
	}
	w.mustPlace(put(t, "a.md", "pulled", "older"), put(t, "c.md", "new", ""))
	w.wantContent("a.md", "pulled")
	w.wantContent("c.md", "new")
	c, err := w.tree.Capabilities()
	if err != nil || !c.Beside {
		t.Errorf("capabilities %+v, %v", c, err)
	}
	w.wantClean()
}

// TestRootIsAMountPoint: no directory outside the root is on its file system.
// That is an error with a clear text, and nothing is left in the tree.
func TestRootIsAMountPoint(t *testing.T) {
	if !nstest.Inside(t) {
		return
	}
	w := newWorld(t)
	nstest.Mount(t, "tmpfs", w.root, "tmpfs", 0, "size=1m")
	w.write("a.md", "base")
	out := w.place(put(t, "a.md", "pulled", "base"), put(t, "b.md", "new", ""))
	for _, placed := range out {
		if placed.Err == nil || !strings.Contains(placed.Err.Error(), "mount") {
			t.Errorf("outcome %v, want one that names the mount point", placed.Err)
		}
	}
	w.wantContent("a.md", "base")
	w.wantClean()
}
