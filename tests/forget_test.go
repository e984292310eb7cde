package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestForget retires a key for a team of four: one whose daemon runs, one that
// was away with the old text, one that was away and edited it, and a client
// that knows the base protocol alone.
func TestForget(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.a, p.b
	stale, edited := newFastMachine(t, "cyd"), newFastMachine(t, "dan")
	token := p.server.token("more", "acme/*", "writer")
	for _, m := range []*machine{stale, edited} {
		m.enroll(p.server.url, token, team)
	}
	p.server.asMaintainer(a)
	const old, newer, mine = "the old way\n", "the old way, told better\n", "the old way, my addition\n"
	a.write("way.md", old)
	a.write("stays.md", "stays\n")
	for _, m := range []*machine{a, stale, edited, b} {
		m.sync(0)
	}
	a.write("way.md", newer) // so that the stale one has a text of the ring
	a.sync(0)
	b.daemon()
	b.awaitFile("way.md", newer)
	edited.write("way.md", mine)

	forgotten := object(t, a.ok("forget", "way.md", "--json"), shape{"repo": "s", "key": "s", "version": "n", "undo": "s"})
	if _, there := a.read("way.md"); there {
		t.Error("the file is still where it was forgotten")
	}
	b.awaitFile("way.md", "")
	// What is taken out of the directory is looked at before it becomes a copy.
	await(t, time.Minute, "the other machine to have saved its text", func() bool { return slices.Equal(b.savedCopies()["way.md"], []string{newer}) })
	await(t, time.Minute, "the other machine to be in sync", func() bool { return b.status().State == "in-sync" })

	t.Run("a stale machine resurrects nothing", func(t *testing.T) {
		if r := stale.sync(0); r.Sent != 0 {
			t.Errorf("sent %d, want 0", r.Sent)
		}
		if got := stale.savedCopies()["way.md"]; len(got) != 1 || got[0] != old {
			t.Errorf("its saved copies are %q, want its text", got)
		}
		if text, there := stale.read("way.md"); there {
			t.Errorf("the file is still there: %q", text)
		}
	})
	t.Run("an edit is held", func(t *testing.T) {
		h, ok := edited.sync(3).heldFor("way.md")
		if !ok || h.Reason != "forgotten-on-server" {
			t.Fatalf("held %+v, want forgotten-on-server", h)
		}
		for _, verb := range []string{"teammemd restore way.md@VERSION", "teammemd history way.md", "teammemd forget way.md"} {
			if !strings.Contains(h.Fix, verb) {
				t.Errorf("the fix %q does not name %q", h.Fix, verb)
			}
		}
		if got, _ := edited.read("way.md"); got != mine {
			t.Errorf("the edit is %q", got)
		}
	})
	t.Run("a base client's old text is ignored", func(t *testing.T) {
		got := p.server.push(token, team, map[string]string{"way.md": old})
		pushed := decode[api.PushAnswer](t, string(got.body))
		if got.status != 200 || len(pushed.Ignored) != 1 || pushed.Ignored[0] != "way.md" {
			t.Errorf("status %d, %s, want 200 and way.md ignored", got.status, got.body)
		}
		if got := p.server.push(token, team, map[string]string{"way.md": "another\n"}); got.status != 422 {
			t.Errorf("a new text: status %d, want 422", got.status)
		}
	})
	for _, m := range []*machine{a, stale} {
		if r := m.sync(0); r.Sent != 0 || r.Pending != 0 || r.Unchanged != 1 {
			t.Errorf("%s after all that: %+v, want the one file that stays", filepath.Base(m.home), r)
		}
	}
	complains(t, b.run("forget", "stays.md"), 77, "for maintainers")

	t.Run("restore", func(t *testing.T) {
		undo := strings.Fields(fmt.Sprint(forgotten["undo"]))
		a.ok(undo[1:]...)
		a.sync(0)
		b.awaitFile("way.md", newer)
		stale.sync(0)
		for _, m := range []*machine{a, stale} {
			if got, _ := m.read("way.md"); got != newer {
				t.Errorf("%s has %q, want the text that was restored", filepath.Base(m.home), got)
			}
		}
		// The edit was of a text before the one that was restored: a conflict.
		edited.run("sync")
		if got := edited.savedCopies()["way.md"]; len(got) != 1 || got[0] != mine {
			t.Errorf("the edit is kept as %q, want %q", got, mine)
		}
	})
	t.Run("the copies", func(t *testing.T) {
		list := decode[struct{ Conflicts []conflict }](t, stale.ok("conflicts", "list", "--json").stdout).Conflicts
		if len(list) != 1 {
			t.Fatalf("%d copies, want 1", len(list))
		}
		stale.ok("conflicts", "restore", list[0].ID)
		if r := stale.sync(0); r.Sent != 1 {
			t.Errorf("sent %d, want 1: the copy is an ordinary edit", r.Sent)
		}
		b.awaitFile("way.md", old)
		stale.ok("conflicts", "drop", list[0].ID)
		complains(t, stale.run("conflicts", "drop", list[0].ID), 2)
		if got := stale.savedCopies(); len(got) != 0 {
			t.Errorf("copies after the drop: %q", got)
		}
	})
}

// TestForgetByWriters lets writers retire where the server's policy says so, as
// that of up does.
func TestForgetByWriters(t *testing.T) {
	t.Parallel()
	ada := newFastMachine(t, "ada")
	dir := ada.checkout("api", "git@github.com:acme/api.git")
	ada.team = ada.claudeTeam(dir)
	ada.write("note.md", "text\n")
	t.Cleanup(ada.endDetached)
	up := object(t, ada.runIn(dir, "up", "--detach", "--json", "--listen", "127.0.0.1:0"), rootShape)
	url, code := invited(t, fmt.Sprint(up["join"]))
	ben := newFastMachine(t, "ben")
	there := ben.checkout("api", "git@github.com:acme/api.git")
	ben.team = ben.claudeTeam(there)
	if o := ben.runIn(there, "join", url, "--code", code); o.code != 0 {
		t.Fatalf("join: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	ben.ok("forget", "note.md")
	ada.awaitFile("note.md", "")
	ada.ok("restore", "note.md@1")
	ada.awaitFile("note.md", "text\n")
	ben.sync(0)
	if got, _ := ben.read("note.md"); got != "text\n" {
		t.Errorf("restored as %q", got)
	}
}
