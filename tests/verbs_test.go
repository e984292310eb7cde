package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestHalfCycles runs sync one way, and dry.
func TestHalfCycles(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("shared.md", "shared\n")
	p.meet(t)
	p.a.write("theirs.md", "theirs\n")
	p.a.sync(0)
	p.b.write("mine.md", "mine\n")
	remove(t, filepath.Join(p.b.team, "shared.md"))

	before, state := treeOf(t, p.b.team), treeOf(t, p.b.state())
	dry := p.b.sync(0, "--dry-run")
	if dry.Sent != 1 || dry.Received != 1 || dry.Restored != 1 {
		t.Errorf("a dry run tells of %d, %d and %d, want 1 to send, 1 to receive, 1 to restore", dry.Sent, dry.Received, dry.Restored)
	}
	sameTree(t, "after a dry run", before, treeOf(t, p.b.team))
	sameTree(t, "the state after a dry run", state, treeOf(t, p.b.state()))

	if r := decode[report](t, p.b.run("sync", "--pull", "--json").stdout); r.Sent != 0 || r.Received != 1 {
		t.Errorf("--pull: %d sent and %d received, want 0 and 1", r.Sent, r.Received)
	}
	p.a.write("more.md", "more\n")
	p.a.sync(0)
	if r := decode[report](t, p.b.run("sync", "--push", "--json").stdout); r.Sent != 1 || r.Received != 0 {
		t.Errorf("--push: %d sent and %d received, want 1 and 0", r.Sent, r.Received)
	}
	p.b.sync(0)
	p.a.sync(0)
	p.meet(t)
}

// TestExplain asks about a file in every state.
func TestExplain(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("same.md", "same\n")
	p.a.sync(0)
	p.a.write("new.md", "new\n")
	p.a.write("image.png", "x")
	for key, state := range map[string]string{"same.md": "in-sync", "new.md": "pending", "image.png": "ignored", "none.md": "absent"} {
		got := object(t, p.a.ok("explain", "--json", filepath.Join(p.a.team, key)), shape{"state": "s", "detail": "s"})
		if got["state"] != state {
			t.Errorf("%s is %v, want %s", key, got["state"], state)
		}
		if o := p.a.ok("explain", filepath.Join(p.a.team, key)); !strings.Contains(o.stdout, key) || strings.Count(o.stdout, "\n") > 3 {
			t.Errorf("explain %s: %q", key, o.stdout)
		}
	}
	complains(t, p.a.run("explain", filepath.Join(p.a.home, "elsewhere.md")), 2)
}

// TestStatusWatch follows the status until it is interrupted.
func TestStatusWatch(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "text\n")
	p.a.daemon()
	await(t, time.Minute, "the daemon to be in sync", func() bool { r := p.a.status(); return r.State == "in-sync" && r.Version > 0 })
	watch := p.a.start("status", "--watch")
	watch.awaitLine("in sync")
	p.a.write("large.md", sized(251_000))
	watch.awaitLine("held  large.md")
	watch.signal(os.Interrupt)
	if code := watch.wait(); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, watch.talk())
	}
}

// TestOtherRuntimeDirectory reaches a daemon from a session that has another
// runtime directory, or none, and after the directory was emptied.
func TestOtherRuntimeDirectory(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	daemon := p.a.daemon()
	for i, run := range []string{"", "/nonexistent", t.TempDir()} {
		p.a.extra = []string{"XDG_RUNTIME_DIR=" + run}
		p.a.write(fmt.Sprintf("note-%d.md", i), "text\n")
		p.a.ok("sync")
		complains(t, p.a.run("daemon"), 75)
		if o := p.a.ok("status"); strings.Contains(o.stdout, "no daemon is running") {
			t.Errorf("with XDG_RUNTIME_DIR=%q the daemon is not found", run)
		}
	}
	p.a.extra = nil
	if err := os.RemoveAll(filepath.Join(p.a.xdg("run"), "teammemd")); err != nil {
		t.Fatal(err)
	}
	await(t, 60*time.Second, "the daemon to listen again where its socket was", func() bool {
		time.Sleep(50 * time.Millisecond)
		o := p.a.run("status")
		return o.code == 0 && !strings.Contains(o.stdout, "no daemon is running")
	})
	if code := daemon.stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// TestEnvironment names server and token by variables alone.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	c := newCompanion(t)
	m := newFastMachine(t, "ada")
	m.extra = []string{"TEAMMEMD_URL=" + c.url, "TEAMMEMD_TOKEN=" + c.token("ci", team, "writer")}
	m.write("note.md", "text\n")
	m.ok("init", "--repo", team, "--team-dir", m.team, "--yes")
	if r := m.sync(0); r.Sent != 1 {
		t.Errorf("sent %d, want 1", r.Sent)
	}
	other := filepath.Join(m.home, "other-state")
	m.extra = append(m.extra, "TEAMMEMD_STATE_DIR="+other)
	if r := m.sync(0); r.Sent != 0 || r.Unchanged != 1 {
		t.Errorf("with another state directory: %d sent, %d unchanged, want 0 and 1", r.Sent, r.Unchanged)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error("the state directory that the variable names is not used")
	}
}
