package watcher_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/teammem/teammemd/watcher"
)

func TestEveryKindOfChange(t *testing.T) {
	t.Parallel()
	for _, polling := range []bool{false, true} {
		t.Run(fmt.Sprintf("polling %v", polling), func(t *testing.T) {
			opts := quick()
			if polling {
				opts.PollOnly, opts.Poll = true, 5*time.Millisecond
			}
			r := startRig(t, opts, filepath.Join(t.TempDir(), "team"), true)
			r.mode("root", map[bool]watcher.Mode{false: watcher.Events, true: watcher.Polling}[polling])
			later := time.Now().Add(time.Hour)
			steps := []struct {
				name string
				do   func() error
			}{
				{"create", func() error { r.write("a.md"); return nil }},
				{"edit", func() error { r.append("a.md"); return nil }},
				{"edit of the same size", func() error { return os.Chtimes(r.path("a.md"), later, later) }},
				{"mode", func() error { return os.Chmod(r.path("a.md"), 0o600) }},
				{"rename", func() error { return os.Rename(r.path("a.md"), r.path("b.md")) }},
				{"directory", func() error { return os.Mkdir(r.path("d"), 0o755) }},
				{"into the directory", func() error { return os.Rename(r.path("b.md"), r.path("d/b.md")) }},
				{"edit in the directory", func() error { r.append("d/b.md"); return nil }},
				{"rename of the directory", func() error { return os.Rename(r.path("d"), r.path("e")) }},
				{"edit under the new name", func() error { r.append("e/b.md"); return nil }},
				{"delete", func() error { return os.Remove(r.path("e/b.md")) }},
				{"delete of the directory", func() error { return os.Remove(r.path("e")) }},
			}
			for _, step := range steps {
				r.calm()
				if err := step.do(); err != nil {
					t.Fatal(err)
				}
				r.hint(step.name)
			}
		})
	}
}

func TestNoiseGivesNoHint(t *testing.T) {
	t.Parallel()
	for _, polling := range []bool{false, true} {
		opts := quick()
		if polling {
			opts.PollOnly, opts.Poll = true, 5*time.Millisecond
		}
		r := startRig(t, opts, filepath.Join(t.TempDir(), "team"), true)
		r.calm()
		for _, name := range []string{
			".hidden", "a.md~", "4913", "#a.md#", ".#a.md", "a.swp", ".a.md.swx", "a.md___jb_tmp___", "._a.md", "~$a.md", "a.tmp", ".goutputstream-X",
		} {
			r.write(name)
		}
		r.mkdir(".git/objects")
		r.write(".git/objects/x")
		r.silent("noise")
		for _, name := range []string{"#1 idea.md", "a.sw", "tmp", "49130", "jb.md"} {
			r.calm()
			r.write(name)
			r.hint(name)
		}
	}
}

func TestRenamedTreesStayWatched(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	r.mkdir("a/b/c")
	r.write("a/b/c/f.md")
	from, to := "a", "z"
	for i := range 10 {
		r.calm()
		r.must(os.Rename(r.path(from), r.path(to)))
		r.hint("the rename")
		r.proven(fmt.Sprintf("round %d: deep under the new name", i), to+"/b/c/f.md")
		deeper := fmt.Sprintf("%s/b/c/n%d", to, i)
		r.mkdir(deeper)
		r.write(deeper + "/f.md")
		r.hint("a directory made under the new name")
		r.proven(fmt.Sprintf("round %d: in a directory made under the new name", i), deeper+"/f.md")
		from, to = to, from
	}
	r.must(os.RemoveAll(r.path("a")))
	r.mkdir("a/b/c")
	r.write("a/b/c/f.md")
	r.proven("recreated", "a/b/c/f.md")
}

func TestAncestorRenamed(t *testing.T) {
	t.Parallel()
	opts := quick()
	opts.Identity = 5 * time.Millisecond
	r := newRig(t, opts)
	base, away := filepath.Dir(r.dir), filepath.Dir(r.dir)+"-away"
	r.calm()
	r.must(os.Rename(base, away))
	r.mode("root", watcher.Missing)
	r.mkdir("sub") // another root in its place
	r.mode("root", watcher.Events)
	r.write("sub/f.md")
	r.proven("in the new root", "sub/f.md")
	r.must(os.Rename(base, base+"-2"))
	r.must(os.Rename(away, base))
	r.fullHint("swapped within one check")
	r.write("g.md")
	r.proven("in the first root again", "g.md")
}

func TestRootThroughALink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: symbolic links need a privilege here")
	}
	base := t.TempDir()
	opts := quick()
	opts.Identity = 5 * time.Millisecond
	for _, name := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, name, "f.md"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink("one", link); err != nil {
		t.Fatal(err)
	}
	r := startRig(t, opts, link, false)
	r.mode("root", watcher.Events)
	r.proven("through the link", "f.md")
	r.must(os.Symlink("two", link+"2"))
	r.must(os.Rename(link+"2", link))
	r.fullHint("the link leads elsewhere")
	r.proven("through the new link", "f.md")
}

func TestLinksInsideAreNotFollowed(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	outside := t.TempDir()
	if err := os.Symlink(outside, r.path("link")); err != nil {
		t.Skip("SKIP: no symbolic links here")
	}
	r.hint("the link itself")
	r.calm()
	r.must(os.WriteFile(filepath.Join(outside, "f.md"), nil, 0o644))
	r.silent("a change outside")
}

func TestLostEventsAskForEverything(t *testing.T) {
	t.Parallel()
	p := newTap()
	opts := quick()
	opts.Open = p.open
	r := newRig(t, opts)
	other := filepath.Join(t.TempDir(), "other")
	r.must(os.Mkdir(other, 0o755))
	r.w.Add("other", other)
	r.mode("other", watcher.Events)
	r.calm()

	p.set(func() { p.mute = true })
	r.mkdir("a/b")
	r.write("a/b/f.md")
	r.silent("events that are lost")
	p.set(func() { p.mute = false })
	p.fail(fsnotify.ErrEventOverflow)
	got := map[string]bool{}
	for range 2 {
		h := r.hint("after the overflow")
		got[h.ID] = h.Full
	}
	if !got["root"] || !got["other"] {
		t.Errorf("not every root is to be read whole: %v", got)
	}
	r.proven("a directory whose creation was lost", "a/b/f.md")
}

func TestPeriodicRescan(t *testing.T) {
	t.Parallel()
	p := newTap()
	opts := quick()
	opts.Open, opts.Rescan = p.open, 50*time.Millisecond
	p.mute = true
	r := newRig(t, opts)
	for range 3 {
		r.fullHint("the rescan")
	}
}

// TestConstantWritesMeetTheMaximum never pauses for long enough to settle: what
// comes does so by the maximum, again and again, and no sooner.
func TestConstantWritesMeetTheMaximum(t *testing.T) {
	opts := quick()
	opts.Quiet, opts.Max = time.Hour, 300*time.Millisecond
	r := newRig(t, opts)
	r.write("f.md")
	r.calm()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	const wanted = 4
	late := time.After(patience)
	start := time.Now()
	for hints := 0; hints < wanted; {
		select {
		case <-ticker.C:
			r.append("f.md")
		case <-r.w.Settled():
			hints++
		case <-late:
			t.Fatalf("%d hints in %v of constant writing", hints, patience)
		}
	}
	// The first may be due for what was written before; a clock may be coarse.
	if took := time.Since(start); took < (wanted-1)*opts.Max-10*time.Millisecond {
		t.Errorf("%d hints in %v of constant writing", wanted, took)
	}
}

func TestHintsMergeWhileNobodyTakesThem(t *testing.T) {
	t.Parallel()
	p := newTap()
	opts := quick()
	opts.Open = p.open
	r := newRig(t, opts)
	r.calm()
	for i := range 500 {
		r.write(fmt.Sprintf("f%d.md", i))
	}
	// Nothing was blocked: the raw channel, which nobody has read yet, holds one
	// hint for the root.
	select {
	case h := <-r.w.Hints():
		if h.ID != "root" {
			t.Errorf("got %+v", h)
		}
	case <-time.After(patience):
		t.Fatal("no raw hint comes")
	}
	if !r.w.Pending("root") {
		t.Error("nothing is pending")
	}
	// A hint that waits to be taken grows into a full one.
	for settled := time.After(50 * time.Millisecond); ; {
		select {
		case <-settled:
		case <-r.w.Hints():
			continue
		}
		break
	}
	p.fail(fsnotify.ErrEventOverflow)
	for full := false; !full; {
		full = (<-r.w.Hints()).Full
	}
	tick := time.NewTicker(opts.Max)
	defer tick.Stop()
	<-tick.C
	<-tick.C
	if h := r.hint("the settled one"); !h.Full {
		t.Errorf("got %+v, want a full one", h)
	}
	r.silent("the second of two that were merged")
	if r.w.Pending("root") {
		t.Error("still pending")
	}
}

func TestRemovedRootsAreSilent(t *testing.T) {
	t.Parallel()
	r := newRig(t, quick())
	r.write("f.md")
	r.w.Remove("root")
	if r.w.Pending("root") || r.w.Mode("root") != "" || r.w.Reason("root") != "" {
		t.Error("a removed root has a state")
	}
	r.append("f.md")
	r.silent("after its removal")
	r.w.Add("root", r.dir)
	r.hint("added again")
	r.proven("added again", "f.md")

	elsewhere := t.TempDir()
	r.w.Add("root", elsewhere)
	r.hint("another directory of that id")
	r.mode("root", watcher.Events)
	r.calm()
	r.append("f.md")
	r.silent("the earlier directory")
	r.must(os.WriteFile(filepath.Join(elsewhere, "g.md"), nil, 0o644))
	r.hint("the new directory")
}

func TestRunEndsAndClosesItsChannels(t *testing.T) {
	t.Parallel()
	w := watcher.New(quick())
	w.Add("root", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-w.Hints()
	cancel()
	for _, c := range []<-chan watcher.Hint{w.Hints(), w.Settled()} {
		for open := true; open; {
			select {
			case _, open = <-c:
			case <-time.After(patience):
				t.Fatal("a channel stays open")
			}
		}
	}
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
	w.Add("late", t.TempDir())
	w.Remove("late")
}
