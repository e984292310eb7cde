//go:build !windows

package tests

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/tests/chaos"
)

// TestF18SleepAndWake stops a daemon as a closed lid does, while its peer forgets
// all connections without closing one. Both sides are edited meanwhile. When it
// goes on it must not wait for answers that never come: 30 seconds each.
func TestF18SleepAndWake(t *testing.T) {
	t.Parallel()
	nap := 90 * time.Second
	if testing.Short() {
		nap = 20 * time.Second
	}
	p := newPair(t)
	proxy := chaos.Start(t, chaos.Options{Target: p.server.url})
	a := newFastMachine(t, "sleeper")
	a.enroll(proxy.URL(), p.server.token("sleeper", team, "writer"), team)
	daemon := a.daemon()
	a.write("first.md", "first\n")
	await(t, time.Minute, "the first file to be sent", func() bool { r := a.status(); return r.State == "in-sync" && r.Version > 0 })

	daemon.signal(syscall.SIGSTOP)
	defer daemon.signal(syscall.SIGCONT)
	proxy.Mute()
	p.b.write("theirs.md", "written while it slept\n")
	p.b.sync(0)
	a.write("mine.md", "written while it slept\n")
	time.Sleep(nap)
	daemon.signal(syscall.SIGCONT)
	begun := time.Now()
	await(t, time.Minute, "the daemon to say that it woke up", func() bool { return strings.Contains(daemon.talk(), "woke up") })
	await(t, time.Minute, "what was pulled after waking", func() bool { _, there := a.read("theirs.md"); return there })
	reader := p.server.token("reader", team, "reader")
	await(t, time.Minute, "what was pushed after waking", func() bool {
		full, _ := p.server.get(reader, team)
		return full.Content.Entries["mine.md"] != ""
	})
	took := time.Since(begun)
	t.Logf("FIGURE awake to in step, after %s: %d ms", nap, took.Milliseconds())
	if took > 20*time.Second {
		t.Errorf("in step %s after waking: it waited for a peer that was gone", took)
	}
	// And it hears again.
	p.b.write("after.md", "after\n")
	p.b.sync(0)
	await(t, 20*time.Second, "a change after the sleep", func() bool { _, there := a.read("after.md"); return there })
	await(t, time.Minute, "status to be in-sync", func() bool { r := a.status(); return r.State == "in-sync" && r.Pending == 0 })
	if n := strings.Count(daemon.talk(), "woke up"); n > 3 {
		t.Errorf("it woke up %d times\n%s", n, daemon.talk())
	}
	if lines := strings.Count(daemon.talk(), "\n"); lines > 20 {
		t.Errorf("%d log lines:\n%s", lines, daemon.talk())
	}
}
