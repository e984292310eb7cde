package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestUpMovesPorts stops `up` and starts it on another port: the checkouts follow.
func TestUpMovesPorts(t *testing.T) {
	t.Parallel()
	m := newFastMachine(t, "ada")
	dir := m.checkout("api", "git@github.com:acme/api.git")
	note := filepath.Join(m.claudeTeam(dir), "note.md")
	put(t, note, "one\n")
	t.Cleanup(m.endDetached)
	var before string
	for i := range 3 {
		put(t, note, fmt.Sprintf("edit %d\n", i))
		o := m.runIn(dir, "up", "--detach", "--listen", "127.0.0.1:0")
		if o.code != 0 || !strings.Contains(o.stdout, "1 sent") {
			t.Fatalf("start %d: exit code %d\n%s%s", i, o.code, o.stdout, o.stderr)
		}
		url, _ := invited(t, o.stdout)
		if url == before {
			t.Logf("start %d has the port of the one before", i)
		}
		before = url
		if o := m.runIn(dir, "history", note); o.code != 0 || strings.Count(o.stdout, "\n") != i+2 {
			t.Errorf("start %d: history has not %d versions: exit code %d\n%s%s", i, i+1, o.code, o.stdout, o.stderr)
		}
		m.endDetached()
	}
}

// TestLiveRegistration registers a checkout while the daemon runs without any.
func TestLiveRegistration(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newFastMachine(t, "ada")
	daemon := m.daemon()
	m.write("note.md", "text\n")
	m.enroll(server.url, server.token("ada", team, "writer"), team)
	await(t, 20*time.Second, "the new root to be in sync", func() bool { r := m.status(); return r.State == "in-sync" && r.Version > 0 })

	// A faulty configuration changes nothing.
	m.config("speed = 9\n")
	daemon.signal(syscall.SIGHUP)
	m.write("later.md", "later\n")
	reader := server.token("reader", team, "reader")
	await(t, 20*time.Second, "an edit under a faulty configuration", func() bool {
		full, _ := server.get(reader, team)
		return full.Content.Entries["later.md"] == "later\n"
	})
	if !daemon.running() {
		t.Fatal("a faulty configuration ended the daemon")
	}
	m.config("debounce = \"100ms\"\n")
}

// TestRestoreVersion takes an edit back on the server: it reaches every machine.
func TestRestoreVersion(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, text := range []string{"first\n", "second\n", "third\n"} {
		p.a.write("note.md", text)
		p.a.sync(0)
	}
	p.b.sync(0)
	put(t, filepath.Join(p.a.home, "token"), p.server.token("lead", team, "maintainer"))
	history := p.a.ok("history", "note.md").stdout
	if strings.Count(history, "\n") != 4 || !strings.Contains(history, "current") {
		t.Errorf("history:\n%s", history)
	}
	p.a.ok("restore", "note.md@1")
	for _, m := range []*machine{p.a, p.b} {
		m.sync(0)
		if got, _ := m.read("note.md"); got != "first\n" {
			t.Errorf("%s has %q, want the first text", filepath.Base(m.home), got)
		}
	}
	complains(t, p.a.run("restore", "note.md@99"), 77)
	complains(t, p.a.run("restore", "none.md@1"), 77)
}

// TestServerUnderPrefix reaches a server behind a proxy that gives it a path.
func TestServerUnderPrefix(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	m := newMeddler(t, server.url)
	prefix := http.NewServeMux()
	prefix.Handle("/memory/", http.StripPrefix("/memory", m.Config.Handler))
	m.Config.Handler = prefix
	a := newFastMachine(t, "ada")
	a.enroll(m.URL+"/memory/", server.token("ada", team, "writer"), team)
	a.write("note.md", "text\n")
	if r := a.sync(0); r.Sent != 1 {
		t.Errorf("sent %d, want 1", r.Sent)
	}
}

// TestLimits gives a server low limits: the refused stay here, the others go on.
func TestLimits(t *testing.T) {
	t.Parallel()
	limited := func(t *testing.T, limits string) *companion {
		t.Helper()
		c := &companion{machine: newMachine(t, "server")}
		c.data = filepath.Join(c.machine.home, "data")
		file := filepath.Join(c.machine.home, "server.toml")
		put(t, file, "[limits]\n"+limits)
		c.up("127.0.0.1:0", "--config", file)
		return c
	}
	t.Run("entries", func(t *testing.T) {
		t.Parallel()
		server := limited(t, "max_entries = 5\n")
		token := server.token("ada", team, "maintainer")
		many := make(map[string]string)
		for i := range 8 {
			many[fmt.Sprintf("raw-%d.md", i)] = "text\n"
		}
		refused := server.push(token, team, many)
		details := decode[api.ErrorBody](t, string(refused.body)).Error.Details
		if refused.status != http.StatusRequestEntityTooLarge || details.ErrorCode != "team_memory_too_many_entries" || details.MaxEntries != 5 || details.ReceivedEntries != 8 {
			t.Errorf("status %d, %+v", refused.status, details)
		}
		m := newFastMachine(t, "ada")
		m.enroll(server.url, token, team)
		want := make(tree)
		for i := range 4 {
			want[fmt.Sprintf("note-%d.md", i)] = "text\n"
			m.write(fmt.Sprintf("note-%d.md", i), "text\n")
		}
		m.sync(0)
		for i := 4; i < 8; i++ {
			m.write(fmt.Sprintf("note-%d.md", i), "one too many\n")
		}
		m.write("note-0.md", "edited\n")
		r := m.sync(3)
		if len(r.Held) < 3 || r.Held[0].Reason != "refused-by-server" {
			t.Errorf("held %+v, want the new ones as refused-by-server", r.Held)
		}
		full, _ := server.get(token, team)
		if full.Content.Entries["note-0.md"] != "edited\n" {
			t.Error("an edit of a key that is there waits for room")
		}
		if len(treeOf(t, m.team)) != 8 {
			t.Error("a file is gone")
		}
	})
	t.Run("rate", func(t *testing.T) {
		t.Parallel()
		server := limited(t, "rate_per_second = 1\nburst = 4\n") // less than a busy machine manages
		token := server.token("ada", team, "writer")
		m := newFastMachine(t, "ada")
		m.enroll(server.url, token, team)
		for i := range 10 {
			m.write(fmt.Sprintf("note-%d.md", i), sized(100_000))
		}
		server.push(token, team, map[string]string{"first.md": "first\n"}) // what is not there is not counted
		status, retry := 0, ""
		for range 20 {
			a := server.call(http.MethodGet, token, api.PathTeamMemory, url.Values{"repo": {team}, "view": {"hashes"}}, nil)
			if status, retry = a.status, a.header.Get("Retry-After"); status == http.StatusTooManyRequests {
				break
			}
		}
		if status != http.StatusTooManyRequests || retry == "" {
			t.Errorf("status %d, Retry-After %q, want 429 and a time", status, retry)
		}
		o := m.run("sync")
		if o.code != 75 {
			t.Errorf("exit code %d, want 75\n%s%s", o.code, o.stdout, o.stderr)
		}
		m.daemon()
		begun := time.Now()
		await(t, time.Minute, "the daemon to send everything at the server's pace", func() bool {
			time.Sleep(50 * time.Millisecond)
			r := m.status()
			return r.State == "in-sync" && r.Unchanged+r.Sent >= 10 && r.Pending == 0
		})
		t.Logf("ten batches at one request a second took %s", time.Since(begun).Round(time.Millisecond))
	})
}
