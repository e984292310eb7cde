package memdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

var _ teamsync.Tree = (*memdir.Tree)(nil)

// settled reads whatever its age, as if all files were old.
var settled = api.Reading{}

// world is a tree with its state directory, on one file system.
type world struct {
	*testing.T
	root  string
	state *statedir.Dir
	tree  *memdir.Tree
}

func newWorld(t *testing.T, change ...func(*memdir.Options)) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{T: t, root: filepath.Join(base, "memory", "team")}
	if err := os.MkdirAll(w.root, 0o755); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.state, err = statedir.Open(filepath.Join(base, "state")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.state.Close() })
	o := memdir.Options{Root: w.root, Staging: w.state.Staging(), Save: w.state.Save}
	for _, f := range change {
		f(&o)
	}
	if w.tree, err = memdir.Open(o); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.root, filepath.FromSlash(rel)) }

func (w *world) write(rel, content string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(rel)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(rel), []byte(content), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(rel string) string {
	w.Helper()
	content, err := os.ReadFile(w.path(rel))
	if err != nil {
		w.Fatal(err)
	}
	return string(content)
}

func (w *world) wantContent(rel, want string) {
	w.Helper()
	if got := w.read(rel); got != want {
		w.Errorf("%s holds %q, want %q", rel, got, want)
	}
}

func (w *world) snapshot(how api.Reading) api.Snapshot {
	w.Helper()
	snap, err := w.tree.Snapshot(w.Context(), how)
	if err != nil {
		w.Fatal(err)
	}
	return snap
}

// files returns key -> checksum of a snapshot.
func files(snap api.Snapshot) map[string]api.Checksum {
	all := map[string]api.Checksum{}
	for _, f := range snap.Files {
		all[f.Key.String()] = f.Sum
	}
	return all
}

// held returns path -> reason of a snapshot.
func held(snap api.Snapshot) map[string]api.Reason {
	all := map[string]api.Reason{}
	for _, f := range snap.Held {
		all[f.Path] = f.Reason
	}
	return all
}

func sums(contents map[string]string) map[string]api.Checksum {
	all := map[string]api.Checksum{}
	for key, content := range contents {
		all[key] = api.SumString(content)
	}
	return all
}

func key(tb testing.TB, s string) api.Key {
	tb.Helper()
	k, err := api.ParseKey(s)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// put makes a placement of content over expect ("" for none), which is known.
func put(tb testing.TB, name, content, expect string) api.Placement {
	tb.Helper()
	p := api.Placement{Key: key(tb, name), Content: content, Sum: api.SumString(content)}
	if expect != "" {
		p.Expect = api.SumString(expect)
		p.Known = []api.Checksum{p.Expect}
	}
	return p
}

func (w *world) place(placements ...api.Placement) []api.Placed {
	w.Helper()
	out := w.tree.Place(w.Context(), placements)
	if len(out) != len(placements) {
		w.Fatalf("%d outcomes of %d placements", len(out), len(placements))
	}
	return out
}

func (w *world) mustPlace(placements ...api.Placement) {
	w.Helper()
	for i, placed := range w.place(placements...) {
		if placed.Err != nil {
			w.Fatalf("placing %q: %v", placements[i].Key, placed.Err)
		}
	}
}

// saved returns the contents of all saved copies, by key.
func (w *world) saved() map[string][]string {
	w.Helper()
	copies, err := w.state.Copies()
	if err != nil {
		w.Fatal(err)
	}
	all := map[string][]string{}
	for _, c := range copies {
		_, content, err := w.state.ReadCopy(c.ID)
		if err != nil {
			w.Fatal(err)
		}
		all[c.Key.String()] = append(all[c.Key.String()], content)
	}
	return all
}

// wantClean checks that no file of ours is left: not in the tree, not beside
// it, not in the staging directory.
func (w *world) wantClean() {
	w.Helper()
	// What was displaced a moment ago lingers; saving it now would be a mistake.
	before := w.saved()
	if err := w.tree.Recover(w.Context()); err != nil {
		w.Error(err)
	}
	diff(w.T, "saved copies after recovery", w.saved(), before)
	for _, dir := range []string{filepath.Dir(w.root), w.state.Staging()} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			w.Fatal(err)
		}
		for _, entry := range entries {
			if name := entry.Name(); name != filepath.Base(w.root) && name != "outside.md" {
				w.Errorf("left over: %s in %s", entry.Name(), filepath.Base(dir))
			}
		}
	}
	err := filepath.WalkDir(w.root, func(path string, _ os.DirEntry, err error) error {
		if name := filepath.Base(path); strings.HasPrefix(name, "w-") || strings.HasPrefix(name, "x-") {
			w.Errorf("left over in the tree: %s", name)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// age sets the times of a file back. The change time stays: a test of settling
// moves the clock instead.
func (w *world) age(rel string, by time.Duration) {
	w.Helper()
	when := time.Now().Add(-by)
	if err := os.Chtimes(w.path(rel), when, when); err != nil {
		w.Fatal(err)
	}
}

func diff[T any](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if d := cmp.Diff(want, got); d != "" {
		tb.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// keepOpen opens a file for writing until the test ends, and skips where the
// system cannot tell that it is open.
func (w *world) keepOpen(name string) *os.File {
	w.Helper()
	c, err := w.tree.Capabilities()
	if err != nil {
		w.Fatal(err)
	}
	if !c.Writers {
		w.Skip("SKIP: the system cannot tell whether a file is open")
	}
	f, err := os.OpenFile(w.path(name), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = f.Close() })
	return f
}
