//go:build unix

package memdir_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/nobody"
)

// shape is something in a tree that is not a plain file, or not well named.
type shape struct {
	name   string
	make   func(t *testing.T, w *world) error
	reason api.Reason // "" = silently skipped
	path   string     // how the snapshot names it
	key    string     // what a server may send to hit it; default: path
}

func shapes() []shape {
	link := func(target, name string) func(*testing.T, *world) error {
		return func(_ *testing.T, w *world) error { return os.Symlink(target, w.path(name)) }
	}
	file := func(name string) func(*testing.T, *world) error {
		return func(_ *testing.T, w *world) error {
			if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
				return err
			}
			return os.WriteFile(w.path(name), []byte("hostile"), 0o644)
		}
	}
	all := []shape{
		{name: "link to a file outside", make: link("../outside.md", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "link inside", make: link("good.md", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "absolute link", make: link("/etc/passwd", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "dangling link", make: link("nowhere.md", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "dangling link outside", make: link("../nowhere.md", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "link to itself", make: link("l.md", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "link to a device", make: link("/dev/zero", "l.md"), reason: api.HeldLink, path: "l.md"},
		{name: "link to the root", make: link(".", "loop"), reason: api.HeldLink, path: "loop", key: "loop/good.md"},
		{name: "link to the parent", make: link("..", "up"), reason: api.HeldLink, path: "up", key: "up/outside.md"},
		{name: "link to a directory outside", make: link("/", "slash"), reason: api.HeldLink, path: "slash", key: "slash/tmp/evil.md"},
		{name: "link with another extension", make: link("/dev/zero", "l.png"), path: "l.png", key: "l.png"},
		{name: "link to a good directory", make: link("dir", "alias"), reason: api.HeldLink, path: "alias", key: "alias/in.md"},
		{name: "hard link inside", make: func(_ *testing.T, w *world) error {
			return os.Link(w.path("dir/in.md"), w.path("h.md"))
		}, reason: api.HeldLink, path: "h.md"},
		{name: "hard link from outside", make: func(_ *testing.T, w *world) error {
			return os.Link(filepath.Join(filepath.Dir(w.root), "outside.md"), w.path("h.md"))
		}, reason: api.HeldLink, path: "h.md"},
		{name: "named pipe", make: func(_ *testing.T, w *world) error {
			return unix.Mkfifo(w.path("p.md"), 0o644)
		}, reason: api.HeldUnreadable, path: "p.md"},
		{name: "socket", make: func(t *testing.T, w *world) error {
			t.Helper()
			var config net.ListenConfig
			t.Chdir(w.root) // the path of a socket is limited to about 100 bytes
			l, err := config.Listen(t.Context(), "unix", "s.md")
			if err == nil {
				t.Cleanup(func() { l.Close() })
			}
			return err
		}, reason: api.HeldUnreadable, path: "s.md"},
		{name: "device", make: func(_ *testing.T, w *world) error {
			return unix.Mknod(w.path("z.md"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5)))
		}, reason: api.HeldUnreadable, path: "z.md"},
		{name: "directory with a file's name", make: func(_ *testing.T, w *world) error {
			return os.Mkdir(w.path("d.md"), 0o755)
		}, path: "d.md"},
		{name: "file in the place of a directory", make: file("f.md"), path: "-", key: "f.md/below.md"},
		{name: "unreadable file", make: func(t *testing.T, w *world) error {
			t.Helper()
			return errors.Join(file("u.md")(t, w), os.Chmod(w.path("u.md"), 0))
		}, reason: api.HeldUnreadable, path: "u.md"},
		{name: "nested too deep", make: file(strings.Repeat("d/", 20) + "x.md"), reason: api.HeldBadName, path: strings.Repeat("d/", 19) + "d", key: "-"},
	}
	// Names on disk that are no keys.
	for _, bad := range []string{
		"con.md", "PRN.txt", "aux.md", "nul.md", "com1.md", "LPT9.txt", "com¹.md", "conin$.md", "nul .md",
		"a\tb.md", "a\nb.md", "a\x1b[31m.md", "a\x7f.md", "a\\b.md", "a\\..\\up.md", "a\u200bb.md", "a\u202eb.md", "\ufeffa.md",
		"a\u2028b.md", "a\u0085b.md", "%2e%2e%2fetc.md", "%252e%252e%252fx.md", "%00.md", "a%2f..%2f..%2fb.md", "．．／up.md", "a／b.md",
		"a＼b.md", "bad\xff.md", "\xc3\x28.md", strings.Repeat("n", 201) + ".md", "dir./x.md", "dir /x.md", "con/x.md", "%2e%2e/x.md",
	} {
		all = append(all, shape{name: fmt.Sprintf("name %q", bad), make: file(bad), reason: api.HeldBadName, path: bad, key: "-"})
	}
	return all
}

func TestF14Shapes(t *testing.T) {
	if n := len(shapes()); n < 50 {
		t.Errorf("%d shapes", n)
	}
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			if s.name == "unreadable file" && !nobody.Runs(t) {
				return // root reads everything
			}
			w := newWorld(t)
			w.write("good.md", "good")
			w.write("dir/in.md", "in")
			w.write("../outside.md", "outside")
			if err := s.make(t, w); err != nil {
				if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EILSEQ) || errors.Is(err, syscall.ENAMETOOLONG) {
					t.Skipf("SKIP: cannot make it here: %v", err)
				}
				t.Fatal(err)
			}
			wantHeld(t, w, s)
			if s.key != "-" {
				wantUntouched(t, w, s)
			}
			w.wantClean()
		})
	}
}

func wantHeld(t *testing.T, w *world, s shape) {
	t.Helper()
	snap := w.snapshot(settled)
	got := held(snap)[s.path]
	if got != s.reason {
		t.Errorf("held as %q, want %q", got, s.reason)
	}
	if files(snap)["good.md"] != api.SumString("good") {
		t.Error("it hides the good file")
	}
	for _, f := range snap.Files {
		if f.Sum == api.SumString("outside") {
			t.Errorf("%s was read through a link", f.Key)
		}
	}
}

// wantUntouched plays the hostile server: neither placing, loading nor retiring
// such a key may touch anything but plain files of the tree.
func wantUntouched(t *testing.T, w *world, s shape) {
	t.Helper()
	name := s.key
	if name == "" {
		name = s.path
	}
	k := key(t, name)
	for _, expect := range []string{"", "outside", "good", "in", "hostile"} {
		out := w.place(put(t, name, "pulled", expect), put(t, "next-"+expect+".md", "next", ""))
		if out[0].Err == nil {
			t.Errorf("placing over it, expecting %q, succeeded", expect)
		}
		if out[1].Err != nil {
			t.Errorf("the placement beside it failed: %v", out[1].Err)
		}
	}
	if got, err := w.tree.Load(t.Context(), k, settled); err == nil {
		t.Errorf("loading it gave %d bytes", len(got.Content))
	}
	known := []api.Checksum{api.SumString("outside"), api.SumString("good"), api.SumString("in"), api.SumString("hostile")}
	err := w.tree.Retire(t.Context(), k, known)
	if _, statErr := os.Lstat(w.path(s.path)); statErr != nil && s.path != "-" {
		t.Errorf("retiring removed it: %v, %v", err, statErr)
	}
	w.wantContent("good.md", "good")
	w.wantContent("dir/in.md", "in")
	w.wantContent("../outside.md", "outside")
	if copies := w.saved(); len(copies) != 0 {
		t.Errorf("saved copies: %v", copies)
	}
}

// A name that the tree ignores must not be filled by a server: no snapshot
// would ever see it.
func TestPlaceRefusesIgnoredNames(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{".hidden.md", ".git/hooks/x.md", "x.md~", "run.sh", "a/.b/c.md", "x.md.tmp", "Makefile", "dir~/a.md", "#a#/b.md"} {
		var why *api.HeldError
		if out := w.place(put(t, name, "x", "")); !errors.As(out[0].Err, &why) || why.Reason != api.HeldBadName {
			t.Errorf("placing %s: %v, want held as bad-name", name, out[0].Err)
		}
	}
	entries, err := os.ReadDir(w.root)
	if err != nil || len(entries) != 0 {
		t.Errorf("%d entries in the tree, %v", len(entries), err)
	}
}

func TestPlaceRefusesWrongContent(t *testing.T) {
	w := newWorld(t)
	p := put(t, "a.md", "one", "")
	p.Content = "two"
	if out := w.place(p); !errors.Is(out[0].Err, api.ErrBadAnswer) {
		t.Errorf("outcome %v, want %v", out[0].Err, api.ErrBadAnswer)
	}
	w.wantClean()
}
