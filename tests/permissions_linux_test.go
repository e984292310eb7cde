package tests

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asNobody makes the machine run the program as a user whom permissions bind,
// which they do not for root.
func (m *machine) asNobody() {
	m.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	if _, err := exec.LookPath("setpriv"); err != nil {
		m.t.Skipf("SKIP: permissions do not bind root, and there is no setpriv: %v", err)
	}
	for dir := filepath.Dir(m.home); len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		chmod(m.t, dir, 0o755)
	}
	bin := filepath.Join(m.home, "bin", "teammemd")
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if out, err := exec.Command("cp", m.bin, bin).CombinedOutput(); err != nil {
		m.t.Fatalf("copying the program: %s", out)
	}
	script := filepath.Join(m.home, "bin", "as-nobody")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec setpriv --reuid 65534 --regid 65534 --clear-groups -- "+bin+" \"$@\"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
	m.bin = script
	m.give()
}

// give hands everything below the home to the user of asNobody.
func (m *machine) give() {
	m.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(m.home, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, 65534, 65534)
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// TestF13Unreadable takes permissions away: from the configuration, from one
// memory file, from the state directory and from the team directory.
func TestF13Unreadable(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	m := p.a
	m.asNobody()
	secret := m.write("closed.md", "nobody may read it\n")
	m.write("open.md", "open\n")
	m.give()
	config := filepath.Join(m.xdg("config"), "teammemd", "config.toml")

	t.Run("configuration", func(t *testing.T) {
		chmod(t, config, 0)
		complains(t, m.run("sync"), 78, "config.toml", "permission denied")
		complains(t, m.run("daemon"), 78, "config.toml", "permission denied")
		chmod(t, config, 0o600)
	})
	t.Run("token file", func(t *testing.T) {
		chmod(t, filepath.Join(m.home, "token"), 0)
		complains(t, m.run("sync"), 78, "token")
		chmod(t, filepath.Join(m.home, "token"), 0o600)
	})
	t.Run("memory file", func(t *testing.T) {
		chmod(t, secret, 0)
		r := m.sync(3)
		if h, ok := r.heldFor("closed.md"); !ok || h.Reason != "unreadable" || h.Fix == "" || r.Sent != 1 {
			t.Errorf("held %+v and %d sent, want closed.md as unreadable, and 1", r.Held, r.Sent)
		}
		chmod(t, secret, 0o600)
		if r := m.sync(0); r.Sent != 1 {
			t.Errorf("sent %d when it can be read, want 1", r.Sent)
		}
	})
	t.Run("state directory", func(t *testing.T) {
		chmod(t, m.state(), 0o500)
		chmod(t, filepath.Join(m.state(), "roots"), 0)
		m.write("later.md", "later\n")
		m.give()
		o := m.run("sync")
		if o.code != 1 && o.code != 78 {
			t.Errorf("exit code %d, want 1 or 78", o.code)
		}
		complains(t, o, o.code, "permission denied")
		chmod(t, m.state(), 0o700)
		chmod(t, filepath.Join(m.state(), "roots"), 0o700)
		if r := m.sync(0); r.Sent != 1 {
			t.Errorf("sent %d afterwards, want 1", r.Sent)
		}
	})
	t.Run("team directory", func(t *testing.T) {
		p.b.sync(0)
		p.b.write("new.md", "new\n")
		p.b.sync(0)
		chmod(t, m.team, 0o500)
		if h, ok := m.sync(3).heldFor("new.md"); !ok || h.Fix == "" {
			t.Errorf("new.md: %+v, want it held while it cannot be written", h)
		}
		chmod(t, m.team, 0o700)
		if r := m.sync(0); r.Received != 1 {
			t.Errorf("received %d afterwards, want 1", r.Received)
		}
		sameTree(t, "both machines", treeOf(t, m.team), treeOf(t, p.b.team))
	})
}

// TestF13Immutable makes a file immutable with chattr, and another one read-only:
// those keys are held, each with its reason and what to do, and all others go on,
// by hand and under a daemon.
func TestF13Immutable(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, key := range []string{"frozen.md", "read-only.md", "open.md"} {
		p.a.write(key, "first\n")
	}
	p.meet(t)
	frozen := filepath.Join(p.b.team, "frozen.md")
	chattr := func(flag string) error {
		out, err := exec.Command("chattr", flag, frozen).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	if err := chattr("+i"); err != nil {
		t.Skipf("SKIP: no immutable files here: %v", err)
	}
	t.Cleanup(func() { _ = chattr("-i") })
	chmod(t, filepath.Join(p.b.team, "read-only.md"), 0o444)
	for _, key := range []string{"frozen.md", "read-only.md", "open.md"} {
		p.a.write(key, "second\n")
	}
	p.a.sync(0)
	p.b.write("mine.md", "mine\n")
	wantHeld := func(when string, r report) {
		t.Helper()
		if len(r.Held) != 2 {
			t.Errorf("%s: held %+v, want two", when, r.Held)
		}
		for _, key := range []string{"frozen.md", "read-only.md"} {
			if h, ok := r.heldFor(key); !ok || h.Reason != "unreadable" || !strings.Contains(h.Fix, "write") {
				t.Errorf("%s: %s: %+v, want it held as unreadable, with a fix", when, key, h)
			}
		}
		want := tree{"frozen.md": "first\n", "read-only.md": "first\n", "open.md": "second\n", "mine.md": "mine\n"}
		sameTree(t, when, want, treeOf(t, p.b.team))
	}
	r := p.b.sync(3)
	wantHeld("by hand", r)
	if r.Sent != 1 || r.Received != 1 {
		t.Errorf("%d sent and %d received beside what is held, want 1 and 1", r.Sent, r.Received)
	}
	if o := p.b.run("sync"); strings.Count(o.stdout, "unreadable") != 2 {
		t.Errorf("the text does not name both:\n%s", o.stdout)
	}
	p.b.daemon()
	p.a.write("later.md", "later\n")
	p.a.sync(0)
	await(t, 30*time.Second, "a file to arrive beside held ones", func() bool { _, there := p.b.read("later.md"); return there })
	remove(t, filepath.Join(p.b.team, "later.md")) // it is restored
	await(t, 30*time.Second, "a file to be restored beside held ones", func() bool { _, there := p.b.read("later.md"); return there })
	if err := chattr("-i"); err != nil {
		t.Fatal(err)
	}
	chmod(t, filepath.Join(p.b.team, "read-only.md"), 0o644)
	await(t, 30*time.Second, "the held ones to arrive", func() bool {
		p.b.run("sync")
		return len(treeOf(t, p.a.team).without("mine.md").differences(treeOf(t, p.b.team).without("mine.md"))) == 0
	})
	if r := p.b.sync(0); len(r.Held) > 0 {
		t.Errorf("still held: %+v", r.Held)
	}
}
