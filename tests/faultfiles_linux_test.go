package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/internal/nstest"
)

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

// cage runs a daemon where the directory of its team and its state are small file
// systems of its own. The files in them are reached through /proc.
type cage struct {
	*process
	root        string // of the files as the daemon sees them
	team, state string
}

func (m *machine) caged(size string) *cage {
	m.t.Helper()
	var setup strings.Builder
	for _, dir := range []string{filepath.Dir(m.team), m.state()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			m.t.Fatal(err)
		}
		fmt.Fprintf(&setup, "mount -t tmpfs -o size=%s none '%s'\n", size, dir)
	}
	p := m.daemonWithin(setup.String() + "mkdir '" + m.team + "'")
	root := fmt.Sprintf("/proc/%d/root", p.cmd.Process.Pid)
	return &cage{process: p, root: root, team: root + m.team, state: root + m.state()}
}

// TestF12FullDisks lets first the disk of the team directory and then that of the
// state run full under a daemon: the old texts stay, nothing is left over, status
// says why, and it goes on by itself when there is room.
func TestF12FullDisks(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a := newFastMachine(t, "caged")
	a.team = filepath.Join(a.home, "mem", "team")
	a.enroll(p.server.url, p.server.token("caged", team, "writer"), team)
	p.b.write("old.md", "old\n")
	p.b.write("both.md", "both\n")
	p.b.sync(0)
	c := a.caged("256k")
	has := func(key, text string) func() bool {
		return func() bool {
			got, err := os.ReadFile(filepath.Join(c.team, key))
			return err == nil && string(got) == text
		}
	}
	await(t, 30*time.Second, "the first files", has("both.md", "both\n"))

	free := nstest.Fill(t, c.team)
	large := sized(20_000)
	p.b.write("old.md", large)
	p.b.write("new.md", large)
	p.b.sync(0)
	await(t, 30*time.Second, "status to say that the disk is full", func() bool { return strings.Contains(a.status().Error, "no space left") })
	if r := a.status(); r.State != "halted" || r.Pending != 2 {
		t.Errorf("with a full disk: %s with %d pending, want halted with 2", r.State, r.Pending)
	}
	sameTree(t, "the files on a full disk", tree{"old.md": "old\n", "both.md": "both\n"}, treeOf(t, c.team).without("filler"))
	put(t, filepath.Join(c.state, "probe"), "the other disk has room\n")
	if left := leftIn(t, c); len(left) > 0 {
		t.Errorf("left over on a full disk: %q", left)
	}
	free()
	await(t, time.Minute, "the daemon to go on by itself", func() bool { return has("old.md", large)() && has("new.md", large)() })

	// The state's disk: a conflict needs room for the copy of what it displaces.
	c.signal(syscall.SIGSTOP) // both are edited before it sees either
	free = nstest.Fill(t, c.state)
	p.b.write("both.md", "theirs\n")
	p.b.sync(0)
	put(t, filepath.Join(c.team, "both.md"), "mine "+large)
	c.signal(syscall.SIGCONT)
	await(t, 30*time.Second, "status to say that the disk is full", func() bool { return strings.Contains(a.status().Error, "no space left") })
	for range 3 {
		a.run("sync")
		if !has("both.md", "mine "+large)() {
			t.Fatal("a text was displaced that could not be saved")
		}
	}
	free()
	await(t, time.Minute, "the conflict to be settled by itself", has("both.md", "theirs\n"))
	await(t, time.Minute, "status to be in-sync", func() bool { r := a.status(); return r.State == "in-sync" && len(r.Conflicts) == 1 })
	saved := false
	for _, text := range treeOf(t, filepath.Join(c.state, "roots")) {
		saved = saved || text == "mine "+large
	}
	if !saved {
		t.Error("the displaced text is in no saved copy")
	}
	if left := leftIn(t, c); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// leftIn lists temporary files in a cage.
func leftIn(t *testing.T, c *cage) []string {
	t.Helper()
	var left []string
	for name := range treeOf(t, filepath.Dir(c.team)) {
		if !strings.HasPrefix(name, "team/") || strings.HasPrefix(filepath.Base(name), ".") {
			left = append(left, name)
		}
	}
	for name := range treeOf(t, c.state) {
		if strings.Contains(name, "/staging/") || strings.HasSuffix(name, ".tmp") {
			left = append(left, name)
		}
	}
	return left
}
