package memdir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
)

func TestSnapshot(t *testing.T) {
	w := newWorld(t)
	want := map[string]string{
		"MEMORY.md": "index\n", "notes.txt": "text", "a/b/c/deep.md": "deep",
		"with space.md": "s", "größe/日本.md": "unicode", "crlf.md": "a\r\nb\r\n", "empty.md": "",
	}
	for rel, content := range want {
		w.write(rel, content)
	}
	for _, rel := range []string{
		".hidden.md", ".git/x.md", "x.md~", "#x.md#", ".#x.md", "x.md.swp", "y.swx", "x.md___jb_tmp___", "._x.md",
		"~$x.md", "x.md.tmp", ".goutputstream-AB12CD", "4913", "image.png", "noextension", ".md", "dir.tmp/x.md",
	} {
		w.write(rel, "not for the team")
	}
	snap := w.snapshot(settled)
	diff(t, "files", files(snap), sums(want))
	diff(t, "held", held(snap), map[string]api.Reason{})
	if !slices.IsSortedFunc(snap.Files, func(a, b api.Local) int { return a.Key.Compare(b.Key) }) {
		t.Error("files are not sorted by key")
	}
	for _, f := range snap.Files {
		if f.Bytes != len(want[f.Key.String()]) {
			t.Errorf("%s: %d bytes, want %d", f.Key, f.Bytes, len(want[f.Key.String()]))
		}
	}
}

func TestSnapshotOptions(t *testing.T) {
	w := newWorld(t, func(o *memdir.Options) {
		o.Extensions = []string{".mdx"}
		o.Ignore = []string{"draft-*", "old/*/x.mdx", "private"}
	})
	for _, rel := range []string{"a.mdx", "a.md", "draft-a.mdx", "d/draft-b/c.mdx", "old/1/x.mdx", "old/1/y.mdx", "d/private/z.mdx"} {
		w.write(rel, rel)
	}
	diff(t, "files", files(w.snapshot(settled)), sums(map[string]string{"a.mdx": "a.mdx", "old/1/y.mdx": "old/1/y.mdx"}))
}

func TestOpenRefusesBadOptions(t *testing.T) {
	good := memdir.Options{Root: t.TempDir(), Save: newWorld(t).state.Save}
	for name, change := range map[string]func(*memdir.Options){
		"no root":           func(o *memdir.Options) { o.Root = "" },
		"no save":           func(o *memdir.Options) { o.Save = nil },
		"malformed pattern": func(o *memdir.Options) { o.Ignore = []string{"a["} },
		"empty pattern":     func(o *memdir.Options) { o.Ignore = []string{""} },
		"bad extension":     func(o *memdir.Options) { o.Extensions = []string{"md"} },
	} {
		o := good
		change(&o)
		if _, err := memdir.Open(o); !errors.Is(err, api.ErrConfig) {
			t.Errorf("%s: %v, want %v", name, err, api.ErrConfig)
		}
	}
}

func TestRootMissing(t *testing.T) {
	w := newWorld(t)
	w.write("a.md", "a")
	w.snapshot(settled)
	away := w.root + "-away"
	for _, shape := range []string{"absent", "a file"} {
		if err := os.Rename(w.root, away); err != nil {
			t.Fatal(err)
		}
		if shape == "a file" {
			if err := os.WriteFile(w.root, nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.tree.Snapshot(t.Context(), settled); !errors.Is(err, api.ErrRootMissing) {
			t.Errorf("%s: Snapshot: %v", shape, err)
		}
		if _, err := w.tree.Load(t.Context(), key(t, "a.md"), settled); !errors.Is(err, api.ErrRootMissing) {
			t.Errorf("%s: Load: %v", shape, err)
		}
		if err := w.tree.Retire(t.Context(), key(t, "a.md"), nil); !errors.Is(err, api.ErrRootMissing) {
			t.Errorf("%s: Retire: %v", shape, err)
		}
		if out := w.place(put(t, "b.md", "b", "")); !errors.Is(out[0].Err, api.ErrRootMissing) {
			t.Errorf("%s: Place: %v", shape, out[0].Err)
		}
		if _, _, err := w.tree.Identity(); !errors.Is(err, api.ErrRootMissing) {
			t.Errorf("%s: Identity: %v", shape, err)
		}
		if err := w.tree.Recover(t.Context()); err != nil {
			t.Errorf("%s: Recover: %v", shape, err)
		}
		if err := os.RemoveAll(w.root); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(away, w.root); err != nil {
			t.Fatal(err)
		}
		diff(t, "files when the root is back", files(w.snapshot(settled)), sums(map[string]string{"a.md": "a"}))
	}
}

func TestIdentity(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.root, link); err != nil {
		t.Skipf("SKIP: no symbolic links here: %v", err)
	}
	other, err := memdir.Open(memdir.Options{Root: link, Save: w.state.Save})
	if err != nil {
		t.Fatal(err)
	}
	dev, ino, err := w.tree.Identity()
	if err != nil {
		t.Fatal(err)
	}
	dev2, ino2, err := other.Identity()
	if err != nil || dev != dev2 || ino != ino2 || ino == 0 {
		t.Errorf("identity %d:%d, through a link %d:%d, %v", dev, ino, dev2, ino2, err)
	}
}

// clockAt makes the tree's time stand at *offset from the real one.
func clockAt(offset *time.Duration) func(*memdir.Options) {
	return func(o *memdir.Options) { o.Clock = func() time.Time { return time.Now().Add(*offset) } }
}

func TestSettling(t *testing.T) {
	var offset time.Duration
	w := newWorld(t, clockAt(&offset))
	w.write("a.md", "one")
	patient := api.Reading{Settle: time.Minute}
	twice := api.Reading{Settle: time.Minute, Twice: true}
	one := sums(map[string]string{"a.md": "one"})

	wantYoung := func(when string) {
		t.Helper()
		diff(t, "held "+when, held(w.snapshot(patient)), map[string]api.Reason{"a.md": api.HeldUnstable})
		if _, err := w.tree.Load(t.Context(), key(t, "a.md"), patient); !errors.Is(err, api.ErrUnsettled) {
			t.Errorf("Load %s: %v, want %v", when, err, api.ErrUnsettled)
		}
	}
	wantYoung("when just written")
	diff(t, "files read twice", files(w.snapshot(twice)), one)
	diff(t, "files that hold what was whole before", files(w.snapshot(patient)), one)
	if got, err := w.tree.Load(t.Context(), key(t, "a.md"), patient); err != nil || got.Content != "one" {
		t.Errorf("Load of what was whole before: %+v, %v", got, err)
	}
	w.write("a.md", "two")
	wantYoung("when written again")
	if got, err := w.tree.Load(t.Context(), key(t, "a.md"), twice); err != nil || got.Content != "two" {
		t.Errorf("Load reading twice: %+v, %v", got, err)
	}
	offset = 59 * time.Second
	wantYoung("a moment too early")
	offset = 61 * time.Second
	diff(t, "files of age", files(w.snapshot(patient)), sums(map[string]string{"a.md": "two"}))
}

// After a jump of the clock all files seem to come from the future. They are
// read once they were seen unchanged for long enough.
func TestF17SettlingAfterClockJump(t *testing.T) {
	offset := -24 * time.Hour
	w := newWorld(t, clockAt(&offset))
	w.write("a.md", "one")
	future := time.Now().Add(240 * time.Hour)
	if err := os.Chtimes(w.path("a.md"), future, future); err != nil {
		t.Fatal(err)
	}
	patient := api.Reading{Settle: time.Minute}
	diff(t, "files at first", files(w.snapshot(patient)), map[string]api.Checksum{})
	offset += 30 * time.Second
	diff(t, "files too early", files(w.snapshot(patient)), map[string]api.Checksum{})
	offset += 31 * time.Second
	diff(t, "files later", files(w.snapshot(patient)), sums(map[string]string{"a.md": "one"}))
}

func TestPlacedFileIsSettledAtOnce(t *testing.T) {
	w := newWorld(t)
	w.mustPlace(put(t, "a.md", "pulled", ""))
	diff(t, "files", files(w.snapshot(api.Reading{Settle: time.Hour})), sums(map[string]string{"a.md": "pulled"}))
	w.write("a.md", "edited")
	diff(t, "held", held(w.snapshot(api.Reading{Settle: time.Hour})), map[string]api.Reason{"a.md": api.HeldUnstable})
}

func TestLimits(t *testing.T) {
	w := newWorld(t)
	w.write("max.md", strings.Repeat("x", api.MaxEntryBytes))
	w.write("more.md", strings.Repeat("x", api.MaxEntryBytes+1))
	w.write("zero.md", "a\x00b")
	w.write("latin1.md", "gr\xfc\xdfe")
	w.write("utf16.md", "\xff\xfeh\x00i\x00")
	w.write("utf16be.md", "\xfe\xff\x00h\x00i")
	snap := w.snapshot(settled)
	diff(t, "held", held(snap), map[string]api.Reason{
		"more.md": api.HeldTooLarge, "zero.md": api.HeldNotText, "latin1.md": api.HeldNotText,
		"utf16.md": api.HeldNotText, "utf16be.md": api.HeldNotText,
	})
	if len(snap.Files) != 1 {
		t.Errorf("%d files, want the one of exactly the limit", len(snap.Files))
	}
	for _, f := range snap.Held {
		if f.Reason == api.HeldTooLarge && (!strings.Contains(f.Detail, "250001") || !strings.Contains(f.Detail, "250000")) {
			t.Errorf("detail %q names neither size nor cap", f.Detail)
		}
		var held *api.HeldError
		if _, err := w.tree.Load(t.Context(), f.Key, settled); !errors.As(err, &held) || held.Reason != f.Reason {
			t.Errorf("Load of %s: %v, want held as %s", f.Key, err, f.Reason)
		}
	}
	// Why a content is no text is remembered, and forgotten when it changes.
	diff(t, "held again", held(w.snapshot(settled)), held(snap))
	w.write("zero.md", "text")
	if _, ok := held(w.snapshot(settled))["zero.md"]; ok {
		t.Error("a file that became text is still held")
	}
}

func TestLoadAbsent(t *testing.T) {
	w := newWorld(t)
	w.write(".hidden.md", "x")
	w.write("a.md", "x")
	for _, name := range []string{"b.md", "no/such/dir.md", ".hidden.md"} {
		if _, err := w.tree.Load(t.Context(), key(t, name), settled); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Load of %s: %v, want fs.ErrNotExist", name, err)
		}
	}
}

// A file that stays open for writing, as a log does, is not held for ever: it
// is read once it was seen unchanged for long enough.
func TestFileThatStaysOpen(t *testing.T) {
	offset := time.Minute
	w := newWorld(t, clockAt(&offset))
	w.write("log.md", "line")
	w.keepOpen("log.md")
	patient := api.Reading{Settle: 30 * time.Second}
	diff(t, "held at first", held(w.snapshot(patient)), map[string]api.Reason{"log.md": api.HeldUnstable})
	offset += 31 * time.Second
	diff(t, "files later", files(w.snapshot(patient)), sums(map[string]string{"log.md": "line"}))
	if got, err := w.tree.Load(t.Context(), key(t, "log.md"), patient); err != nil || got.Content != "line" {
		t.Errorf("Load: %+v, %v", got, err)
	}
}

// TestF10OpenFilesMustRest: a program that has a file open may rest in the middle
// of a save for longer than the shortest debounce.
func TestF10OpenFilesMustRest(t *testing.T) {
	offset := time.Minute
	w := newWorld(t, clockAt(&offset))
	w.write("half.md", "half of a")
	w.keepOpen("half.md")
	w.write("whole.md", "whole")
	quick := api.Reading{Settle: 50 * time.Millisecond}
	for _, age := range []time.Duration{0, 100 * time.Millisecond, 300 * time.Millisecond} {
		offset += age
		got := w.snapshot(quick)
		diff(t, "held", held(got), map[string]api.Reason{"half.md": api.HeldUnstable})
		diff(t, "files", files(got), sums(map[string]string{"whole.md": "whole"}))
		if got, err := w.tree.Load(t.Context(), key(t, "half.md"), quick); !errors.Is(err, api.ErrUnsettled) {
			t.Errorf("Load: %+v, %v; want %v", got, err, api.ErrUnsettled)
		}
	}
	offset += 200 * time.Millisecond
	diff(t, "files later", files(w.snapshot(quick)), sums(map[string]string{"half.md": "half of a", "whole.md": "whole"}))
}
