package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestEditToVisible measures, with the default wait of two seconds, how long an
// edit on one machine takes to be visible on another. It runs alone.
func TestEditToVisible(t *testing.T) {
	trials := 20
	if testing.Short() {
		trials = 3
	}
	steady(t, func() string {
		took := editToVisible(t, "", trials)
		p50, p95 := quantile(took, 0.5), quantile(took, 0.95)
		t.Logf("FIGURE edit to visible, default debounce: p50 %d ms, p95 %d ms, max %d ms, %d trials",
			p50.Milliseconds(), p95.Milliseconds(), slices.Max(took).Milliseconds(), trials)
		const debounce = 2 * time.Second
		if complaint := tooLong(t, "p50 after the debounce", p50-debounce, 100*time.Millisecond); complaint != "" {
			return complaint
		}
		return tooLong(t, "p95 after the debounce", p95-debounce, 300*time.Millisecond)
	})
}

// TestEditToVisibleSoon reports the same with a wait of a tenth of a second.
func TestEditToVisibleSoon(t *testing.T) {
	trials := 20
	if testing.Short() {
		trials = 3
	}
	took := editToVisible(t, "debounce = \"100ms\"\n", trials)
	t.Logf("FIGURE edit to visible, debounce 100 ms: p50 %d ms, p95 %d ms, max %d ms, %d trials (aim: p50 200 ms)",
		quantile(took, 0.5).Milliseconds(), quantile(took, 0.95).Milliseconds(), slices.Max(took).Milliseconds(), trials)
}

func editToVisible(t *testing.T, config string, trials int) []time.Duration {
	t.Helper()
	server := newCompanion(t)
	token := server.token("both", team, "writer")
	a, b := newMachine(t, "ada"), newMachine(t, "ben")
	for _, m := range []*machine{a, b} {
		m.config(config)
		m.enroll(server.url, token, team)
		daemon := m.daemon()
		defer daemon.stop()
	}
	a.write("note.md", "before\n")
	await(t, time.Minute, "the first file to arrive", func() bool { _, there := b.read("note.md"); return there })
	random := rand.New(rand.NewPCG(4, 4))
	took := make([]time.Duration, 0, trials)
	for i := range trials {
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond) // no step with any timer
		text := fmt.Sprintf("edit %d\n", i)
		begun := time.Now()
		a.write("note.md", text)
		await(t, time.Minute, "the edit to arrive", func() bool { got, _ := b.read("note.md"); return got == text })
		took = append(took, time.Since(begun))
	}
	return took
}

// TestLivePull sees that a daemon hears of changes by events: it would not ask
// for ten minutes.
func TestLivePull(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.b.config("debounce = \"100ms\"\npoll = \"10m\"\n")
	p.b.daemon()
	for i := range 5 {
		key, text := fmt.Sprintf("note-%d.md", i), fmt.Sprintf("live %d\n", i)
		p.a.write(key, text)
		p.a.sync(0)
		await(t, time.Minute, "a change to arrive by an event", func() bool { got, _ := p.b.read(key); return got == text })
	}
	// A deletion is undone by the daemon as well, once it has lasted.
	remove(t, filepath.Join(p.b.team, "note-3.md"))
	await(t, 20*time.Second, "a deleted file to come back", func() bool { got, _ := p.b.read("note-3.md"); return got == "live 3\n" })
}

// TestFlushOnShutdown writes, and stops the daemon before its wait is over.
func TestFlushOnShutdown(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("ada", team, "writer")
	for name, stop := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, strings.ToLower(name)) // with the default wait
			m.enroll(server.url, token, team)
			daemon := m.daemon()
			await(t, time.Minute, "the first cycle to end", func() bool { return m.status().State == "in-sync" })
			key := name + "/note.md"
			wrote := time.Now()
			m.write(key, "written in the last moment\n")
			time.Sleep(200 * time.Millisecond) // for the watcher to see it; the wait is two seconds
			if full, _ := server.get(token, team); full.Content.Entries[key] != "" && time.Since(wrote) < 2*time.Second {
				t.Fatal("it was sent before its time")
			}
			daemon.signal(stop)
			if code := daemon.wait(); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if full, _ := server.get(token, team); full.Content.Entries[key] != "written in the last moment\n" {
				t.Error("the edit was not pushed before the daemon ended")
			}
		})
	}
}

// TestRestartForgetsNothing edits on both sides while the daemon is off: what is
// here is pushed, what is there is pulled, what differs is a conflict.
func TestRestartForgetsNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.a, p.b
	for _, key := range []string{"mine.md", "theirs.md", "both.md", "gone.md"} {
		a.write(key, "before\n")
	}
	p.meet(t)
	daemon := a.daemon()
	if code := daemon.stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	a.write("mine.md", "mine\n")
	a.write("both.md", "both, mine\n")
	remove(t, filepath.Join(a.team, "gone.md"))
	b.write("theirs.md", "theirs\n")
	b.write("both.md", "both, theirs\n")
	b.sync(0)
	a.daemon()
	want := tree{"mine.md": "mine\n", "theirs.md": "theirs\n", "both.md": "both, theirs\n", "gone.md": "before\n"}
	await(t, 30*time.Second, "the daemon to catch up", func() bool { return len(want.differences(treeOf(t, a.team))) == 0 })
	reader := p.server.token("reader", team, "reader")
	await(t, 30*time.Second, "the edit of the time without a daemon to be pushed", func() bool {
		full, _ := p.server.get(reader, team)
		return full.Content.Entries["mine.md"] == "mine\n"
	})
	await(t, time.Minute, "the conflict to be listed", func() bool { return len(a.status().Conflicts) == 1 })
	if got := a.savedCopies()["both.md"]; !slices.Equal(got, []string{"both, mine\n"}) {
		t.Errorf("saved copies of both.md: %q", got)
	}
}

// TestServerRestart takes the server away from a daemon: it says so, keeps what
// is pending, and comes back by itself.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.a, p.b
	a.daemon()
	b.daemon()
	a.write("one.md", "one\n")
	awaitSame(t, 20*time.Second, a, b)
	if code := p.server.stop(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	a.write("two.md", "two\n")
	b.write("three.md", "three\n")
	await(t, 20*time.Second, "the daemon to notice", func() bool { r := a.status(); return r.State == "offline" && r.Pending == 1 })
	o := a.want(75, "sync", "--json")
	if r := decode[report](t, o.stdout); r.State != "offline" || r.Pending != 1 {
		t.Errorf("sync without a server: %s with %d pending, want offline with 1", r.State, r.Pending)
	}
	a.want(75, "status", "--check")
	p.server.again()
	begun := time.Now()
	want := tree{"one.md": "one\n", "two.md": "two\n", "three.md": "three\n"}
	for _, m := range []*machine{a, b} {
		await(t, time.Minute, "both to catch up after the restart", func() bool { return len(want.differences(treeOf(t, m.team))) == 0 })
	}
	t.Logf("FIGURE back in step after a server restart: %d ms", time.Since(begun).Milliseconds())
	await(t, time.Minute, "status to say so", func() bool { r := a.status(); return r.State == "in-sync" && r.Pending == 0 })
}
