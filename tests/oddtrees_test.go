package tests

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFileAgainstFolder makes a directory where the team has a file.
func TestFileAgainstFolder(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("topic.md", "a file\n")
	p.a.write("area/note.md", "in a directory\n")
	p.meet(t)

	remove(t, filepath.Join(p.b.team, "topic.md"))
	p.b.write("topic.md/inner.md", "in a directory named like a file\n")
	if err := os.RemoveAll(filepath.Join(p.b.team, "area")); err != nil {
		t.Fatal(err)
	}
	p.b.write("fine.md", "fine\n")
	r := p.b.sync(3)
	if _, ok := r.heldFor("topic.md/inner.md"); !ok {
		t.Errorf("topic.md/inner.md is not held: %+v", r.Held)
	}
	if got, _ := p.b.read("topic.md/inner.md"); got != "in a directory named like a file\n" {
		t.Errorf("topic.md/inner.md is now %q", got)
	}
	if got, _ := p.b.read("area/note.md"); got != "in a directory\n" {
		t.Errorf("a deleted directory came back as %q", got)
	}
	p.a.sync(0)
	want := tree{"topic.md": "a file\n", "area/note.md": "in a directory\n", "fine.md": "fine\n"}
	sameTree(t, "the first machine", want, treeOf(t, p.a.team))

	// The other way round: a file where the team has a directory.
	if err := os.RemoveAll(filepath.Join(p.b.team, "topic.md")); err != nil {
		t.Fatal(err)
	}
	p.b.sync(0)
	sameTree(t, "the second machine, with the directory gone", want, treeOf(t, p.b.team))
	if err := os.RemoveAll(filepath.Join(p.b.team, "area")); err != nil {
		t.Fatal(err)
	}
	p.b.write("area", "not a name that takes part\n")
	o := p.b.run("sync", "--json")
	if got, _ := p.b.read("area"); got != "not a name that takes part\n" {
		t.Errorf("a file in the way was displaced: %q", got)
	}
	if o.code != 3 {
		t.Errorf("a file in the way: exit code %d, want 3\n%s%s", o.code, o.stdout, o.stderr)
	}
	remove(t, filepath.Join(p.b.team, "area"))
	p.b.sync(0)
	sameTree(t, "the second machine, with the file gone", want, treeOf(t, p.b.team))
}

// TestLinkedRoots registers team directories that are reached through links, as
// people keep them who share their settings by links.
func TestLinkedRoots(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	settings := filepath.Join(p.a.home, "settings", "memory")
	if err := os.MkdirAll(settings, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(p.a.team); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(settings, p.a.team); err != nil {
		t.Fatal(err)
	}
	p.a.write("note.md", "through a link\n")
	p.a.daemon()
	p.b.daemon()
	await(t, 30*time.Second, "a file behind a link to arrive", func() bool { got, _ := p.b.read("note.md"); return got == "through a link\n" })
	p.b.write("back.md", "and back\n")
	await(t, 30*time.Second, "a file to arrive behind a link", func() bool {
		text, err := os.ReadFile(filepath.Join(settings, "back.md"))
		return err == nil && string(text) == "and back\n"
	})
}

// TestF14LinksLeadNowhere puts links to files and directories outside into the
// team directory: nothing outside is read, sent or written.
func TestF14LinksLeadNowhere(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	outside := filepath.Join(p.a.home, "outside")
	put(t, filepath.Join(outside, "private.md"), "private\n")
	p.a.write("note.md", "note\n")
	for name, to := range map[string]string{"dir": outside, "up": "..", "loop": "loop", "abs.md": filepath.Join(outside, "private.md"), "dangling.md": filepath.Join(outside, "none.md")} {
		if err := os.Symlink(to, filepath.Join(p.a.team, name)); err != nil {
			t.Fatal(err)
		}
	}
	p.a.sync(3)
	p.b.sync(0)
	sameTree(t, "what arrives", tree{"note.md": "note\n"}, treeOf(t, p.b.team))
	// The team now has what would be written through the links.
	for _, key := range []string{"dir/private.md", "up/escape.md", "abs.md", "dangling.md", "loop/x.md"} {
		p.b.write(key, "from the other\n")
	}
	p.b.sync(0)
	before := everything(t, p.a.home, p.a.xdg("state"), p.a.xdg("run"))
	p.a.sync(3)
	if after := everything(t, p.a.home, p.a.xdg("state"), p.a.xdg("run")); !slices.Equal(before, after) {
		t.Errorf("there is now\n%q\nwhere there was\n%q", after, before)
	}
	if got := textOf(t, filepath.Join(outside, "private.md")); got != "private\n" {
		t.Errorf("a file outside is now %q", got)
	}
}

// TestHugeFile holds a file far over the cap without reading it to its end.
func TestHugeFile(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	name := p.a.write("huge.md", "x")
	if err := os.Truncate(name, 8<<30); err != nil { // a hole, no bytes
		t.Fatal(err)
	}
	p.a.write("note.md", "note\n")
	o := p.a.want(3, "sync", "--json")
	if h, ok := decode[report](t, o.stdout).heldFor("huge.md"); !ok || h.Reason != "too-large" {
		t.Errorf("%+v, want it held as too-large", h)
	}
	if o.took > 10*time.Second {
		t.Errorf("it took %s", o.took)
	}
	scan := p.a.want(3, "scan", "--json", name)
	if !strings.Contains(scan.stdout, "too-large") {
		t.Errorf("scan: %s", scan.stdout)
	}
}

// TestIgnoredNames writes what editors and systems leave in a directory: none
// of it travels, none of it is held.
func TestIgnoredNames(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	names := []string{
		".hidden.md", ".git/config.md", "note.md~", "4913", "#note.md#", ".#note.md", ".note.md.swp", "note.swp", "note.md.swx",
		"note.md___jb_tmp___", "note.md___jb_old___", "._note.md", "~$note.md", "note.tmp", ".goutputstream-ABC123", "image.png", "Makefile",
		"note.MD", "note", ".DS_Store", "dir/.hidden/x.md",
	}
	for _, name := range names {
		p.a.write(name, "left behind\n")
	}
	p.a.write("note.md", "note\n")
	if r := p.a.sync(0); r.Sent != 1 || len(r.Held) != 0 {
		t.Errorf("%d sent, held %+v, want 1 and nothing", r.Sent, r.Held)
	}
	p.b.sync(0)
	sameTree(t, "what arrives", tree{"note.md": "note\n"}, treeOf(t, p.b.team))
	for _, name := range names {
		if o := p.a.run("explain", filepath.Join(p.a.team, name)); o.code != 0 || !strings.HasPrefix(o.stdout, "ignored") {
			t.Errorf("explain %s: exit code %d, %q", name, o.code, o.stdout)
		}
	}
}

// TestModifiedTimes sees that a pull keeps times in order and rewrites nothing:
// agents sort memories by time.
func TestModifiedTimes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for i := range 3 {
		p.a.write(fmt.Sprintf("%d.md", i), fmt.Sprintf("%d\n", i))
		p.a.sync(0)
		time.Sleep(20 * time.Millisecond)
	}
	p.b.sync(0)
	times := func() []time.Time {
		var all []time.Time
		for i := range 3 {
			info, err := os.Stat(filepath.Join(p.b.team, fmt.Sprintf("%d.md", i)))
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm()&0o077 != 0 && info.Mode()&fs.ModePerm != 0o644 {
				t.Errorf("mode %s", info.Mode())
			}
			all = append(all, info.ModTime())
		}
		return all
	}
	first := times()
	for i := range 2 {
		if !first[i].Before(first[i+1]) {
			t.Errorf("file %d is not older than file %d: %v", i, i+1, first)
		}
	}
	p.a.write("3.md", "3\n")
	p.a.sync(0)
	p.b.sync(0)
	if again := times(); !slices.Equal(first, again) {
		t.Errorf("files were rewritten: %v, before %v", again, first)
	}
}
