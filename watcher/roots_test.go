package watcher_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/teammem/teammemd/watcher"
)

// rounds is how often a root comes and goes.
func rounds() int {
	if testing.Short() {
		return 10
	}
	return 100
}

// TestF03FilledBeforeWatched makes directories and fills them faster than they
// can be watched.
func TestF03FilledBeforeWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	n := 10 * rounds()
	for i := range n {
		r.mkdir(fmt.Sprintf("a%d/b", i))
		r.write(fmt.Sprintf("a%d/b/f.md", i))
	}
	r.hint("the directories")
	r.calm()
	// Whatever was in them is there for the scan; from now on each is watched.
	for i := 0; i < n; i += 7 {
		r.append(fmt.Sprintf("a%d/b/f.md", i))
		r.hint(fmt.Sprintf("edit in directory %d", i))
	}
}

func TestF04RootDeletedAndRecreated(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	for range rounds() {
		r.must(os.RemoveAll(r.dir))
		r.mkdir("sub")
	}
	r.fullHint("the last root")
	r.mode("root", watcher.Events)
	r.write("sub/f.md")
	r.proven("an edit in the last root", "sub/f.md")
}

func TestF04RootDeletedForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	for i := range rounds() {
		r.must(os.RemoveAll(r.dir))
		r.mode("root", watcher.Missing)
		if i%2 == 1 { // its parent goes as well
			r.must(os.RemoveAll(filepath.Dir(r.dir)))
		}
		r.calm()
		r.mkdir("deep/er")
		r.fullHint("the root is back")
		r.mode("root", watcher.Events)
	}
	r.write("deep/er/f.md")
	r.proven("an edit in the last root", "deep/er/f.md")
}

func TestF04RootAndItsParentsRecreated(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	base := filepath.Dir(r.dir)
	for range rounds() {
		r.must(os.RemoveAll(base))
		r.mkdir("sub")
	}
	r.write("sub/f.md")
	r.mode("root", watcher.Events)
	r.proven("an edit in the last root", "sub/f.md")
}

func TestF04RootRenamedAwayAndBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	r.mkdir("sub")
	r.write("sub/f.md")
	away := filepath.Join(filepath.Dir(r.dir), "away")
	for range rounds() {
		r.must(os.Rename(r.dir, away))
		r.mode("root", watcher.Missing)
		r.must(os.Rename(away, r.dir))
		r.mode("root", watcher.Events)
	}
	r.proven("an edit after all that", "sub/f.md")
}

func TestF04RootAbsentAtStart(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	r := startRig(t, quick(), filepath.Join(base, "not", "yet", ".there", "team"), false)
	r.mode("root", watcher.Missing)
	for _, part := range []string{"not", "not/yet", "not/yet/.there"} {
		r.must(os.Mkdir(filepath.Join(base, part), 0o755))
		r.must(os.WriteFile(filepath.Join(base, part, "other"), nil, 0o644))
	}
	r.silent("only its parents came")
	r.mkdir("")
	r.fullHint("it came")
	r.write("f.md")
	r.proven("an edit", "f.md")
	r.must(os.RemoveAll(r.dir))
	r.mode("root", watcher.Missing)
	r.must(os.WriteFile(r.dir, nil, 0o644)) // a file of that name is no root
	r.calm()
	if got := r.w.Mode("root"); got != watcher.Missing {
		t.Errorf("a file is taken for a root: %s", got)
	}
}

// TestF04RootsAbsentAtStart starts with roots that are not there, and makes
// each while it may just be looked for.
func TestF04RootsAbsentAtStart(t *testing.T) {
	t.Parallel()
	for i := range rounds() {
		r := startRig(t, quick(), filepath.Join(t.TempDir(), "base", "team"), false)
		if i%2 == 1 {
			r.mode("root", watcher.Missing)
		}
		r.mkdir("sub")
		r.write("sub/f.md")
		r.mode("root", watcher.Events)
		r.proven("an edit", "sub/f.md")
	}
}
