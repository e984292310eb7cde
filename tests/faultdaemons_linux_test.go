package tests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// finds reports whether the machine's commands reach its daemon.
func (m *machine) finds() bool {
	o := m.run("status")
	return o.code == 0 && !strings.Contains(o.stdout, "no daemon is running")
}

// TestF19RuntimeDirectoryEmptied takes the socket away from a daemon, as cleaners
// of runtime directories do, in every way there is: it listens again, and commands
// find it.
func TestF19RuntimeDirectoryEmptied(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	daemon := p.a.daemon()
	noticed := func() int { return strings.Count(daemon.talk(), "control socket vanished") }
	run := filepath.Join(p.a.xdg("run"), "teammemd")
	ways := []struct {
		name string
		do   func() error
	}{
		{"emptied", func() error {
			entries, err := os.ReadDir(run)
			for _, entry := range entries {
				remove(t, filepath.Join(run, entry.Name()))
			}
			if len(entries) == 0 {
				t.Error("there was nothing in the runtime directory")
			}
			return err
		}},
		{"removed", func() error { return os.RemoveAll(p.a.xdg("run")) }},
		{"replaced", func() error {
			if err := os.RemoveAll(run); err != nil {
				return err
			}
			if err := os.Mkdir(run, 0o755); !errors.Is(err, fs.ErrExist) { // the daemon may be quicker
				return err
			}
			return nil
		}},
		{"another file in the socket's place", func() error {
			sockets, err := filepath.Glob(filepath.Join(run, "*"))
			if err != nil || len(sockets) != 1 {
				return fmt.Errorf("%q, %w", sockets, err)
			}
			remove(t, sockets[0])
			return os.WriteFile(sockets[0], []byte("not a socket"), 0o600)
		}},
	}
	for i, way := range ways {
		if !p.a.finds() {
			t.Fatalf("%s: the daemon is not found to begin with", way.name)
		}
		before := noticed()
		if err := way.do(); err != nil {
			t.Fatalf("%s: %v", way.name, err)
		}
		key := fmt.Sprintf("note-%d.md", i)
		p.a.write(key, "text\n") // it goes on working
		await(t, 60*time.Second, way.name+": the daemon to listen again", func() bool { time.Sleep(20 * time.Millisecond); return noticed() > before && p.a.finds() })
		p.a.ok("sync")
		p.b.sync(0)
		if _, there := p.b.read(key); !there {
			t.Errorf("%s: a file written meanwhile did not arrive", way.name)
		}
		info, err := os.Stat(run)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: the runtime directory afterwards: %v, %v", way.name, info, err)
		}
	}
}

// TestF19NoSharedFolder has no runtime directory at all: the socket is in a place
// of the user's own, not where everybody writes.
func TestF19NoSharedFolder(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	shared := t.TempDir()
	p.a.extra = []string{"XDG_RUNTIME_DIR=", "TMPDIR=" + shared}
	p.a.daemon()
	p.a.write("note.md", "text\n")
	p.a.ok("sync")
	if !p.a.finds() {
		t.Error("the daemon is not found")
	}
	if left := everything(t, shared); len(left) != 1 {
		t.Errorf("in the shared temporary folder: %q", left)
	}
}

// TestF20TwentyDaemons starts twenty daemons at once: one runs, nineteen end with
// 75 and name it; when it is killed without a word, the next one starts at once.
func TestF20TwentyDaemons(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for round := range 3 {
		daemons := make([]*process, 20)
		for i := range daemons {
			daemons[i] = p.a.start("daemon")
		}
		running := func() []*process {
			var alive []*process
			for _, d := range daemons {
				if d.running() {
					alive = append(alive, d)
				}
			}
			return alive
		}
		await(t, time.Minute, "nineteen of twenty to end", func() bool { return len(running()) <= 1 })
		alive := running()
		if len(alive) != 1 {
			t.Fatalf("round %d: none runs", round)
		}
		winner := alive[0]
		await(t, time.Minute, "the one to start", func() bool { return strings.Contains(winner.talk(), "daemon started") })
		for _, d := range daemons {
			if d == winner {
				continue
			}
			complains(t, outcome{args: d.cmd.Args[1:], stderr: d.talk(), code: d.wait()}, 75, fmt.Sprintf("process %d ", winner.cmd.Process.Pid))
		}
		key := fmt.Sprintf("round-%d.md", round)
		p.a.write(key, "text\n")
		p.a.ok("sync")
		winner.kill()
	}
	if code := p.a.daemon().stop(); code != 0 {
		t.Errorf("after a kill: exit code %d", code)
	}
	p.b.sync(0)
	sameTree(t, "both machines", treeOf(t, p.a.team), treeOf(t, p.b.team))
}

// TestF20OneDirectory registers one directory twice, with two configurations and
// two state directories, once through a link and once through a bind mount: one
// process keeps it in step, the other one ends with 75 and names it.
func TestF20OneDirectory(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	first := p.a.daemon()
	p.a.write("note.md", "text\n")
	p.a.ok("sync")
	holder := fmt.Sprintf("process %d", first.cmd.Process.Pid)
	token := p.server.token("second", team, "writer")

	linked := newFastMachine(t, "linked")
	if err := os.Symlink(p.a.team, linked.team); err != nil {
		t.Fatal(err)
	}
	linked.enroll(p.server.url, token, team)
	complains(t, linked.run("sync"), 75, holder)
	wantTaken(t, linked.run("daemon"), holder)

	mounted := newFastMachine(t, "mounted")
	if err := os.MkdirAll(mounted.team, 0o700); err != nil {
		t.Fatal(err)
	}
	mounted.enroll(p.server.url, token, team)
	bound := func(verb string) outcome {
		cmd := namespaced(`mount --bind "$THERE" "$HERE"; exec "$BIN" ` + verb)
		return mounted.runCommand(cmd, mounted.work())
	}
	mounted.extra = []string{"THERE=" + p.a.team, "HERE=" + mounted.team, "BIN=" + mounted.bin}
	if out, err := namespaced("mount --bind " + p.a.team + " " + mounted.team).CombinedOutput(); err != nil {
		t.Skipf("SKIP: no private mounts here: %v %s", err, out)
	}
	complains(t, bound("sync"), 75, holder)
	wantTaken(t, bound("daemon"), holder)
	sameTree(t, "the directory", tree{"note.md": "text\n"}, treeOf(t, p.a.team))

	first.kill() // what it held is free at once
	linked.write("note.md", "through the link\n")
	// It has no base, so that its text is a saved copy now, and nothing is lost.
	if r := linked.sync(3); r.State != "in-sync" || len(r.Conflicts) != 1 {
		t.Errorf("after a kill: %s, %v in conflict, want in-sync and one", r.State, r.Conflicts)
	}
	second := linked.daemon()
	wantTaken(t, p.a.run("daemon"), fmt.Sprintf("process %d", second.cmd.Process.Pid))
	// A manual sync of the other waits for nobody either.
	complains(t, p.a.run("sync"), 75)
	second.signal(syscall.SIGSTOP) // one that hangs holds it still
	complains(t, p.a.run("sync"), 75)
	second.signal(syscall.SIGCONT)
}

// wantTaken wants a daemon to have ended with 75, and its last line to name the
// holder.
func wantTaken(t *testing.T, o outcome, holder string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	last := lines[len(lines)-1]
	if o.code != 75 || !strings.HasPrefix(last, "teammemd: already running") || !strings.Contains(last, holder) {
		t.Errorf("%q: exit code %d, want 75 and %q\n%s%s", o.args, o.code, holder, o.stdout, o.stderr)
	}
}
