package tests

import (
	"bytes"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/tests/chaos"
)

// The texts of a key that two people write at the same time.
const (
	lateOld    = "the way that both know\n"
	lateMine   = "ada's way, written first and sent late\n"
	lateTheirs = "ben's way, which the server took meanwhile\n"
)

// TestF26LateWrite holds the write of one machine back until another's newer
// version of the same key is on the server. The late one has to be refused: no
// accepted version is ever replaced by one whose author had not seen it.
func TestF26LateWrite(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"sync", "daemon"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			t.Run("both edit", func(t *testing.T) {
				t.Parallel()
				l := newLateWrite(t, lateOld)
				l.race(how, l.writeTheirs)
				l.wantTheirs()
			})
			t.Run("both create", func(t *testing.T) {
				t.Parallel()
				l := newLateWrite(t, "")
				l.race(how, l.writeTheirs)
				l.wantTheirs()
			})
			t.Run("an edit and forget", func(t *testing.T) {
				t.Parallel()
				l := newLateWrite(t, lateOld)
				l.server.asMaintainer(l.b)
				l.race(how, func() { l.b.ok("forget", l.key) })
				l.wantForgotten()
			})
		})
	}
}

// TestF26LateForget: what a teammate wrote while `forget` was on its way is no
// text that anybody meant to retire.
func TestF26LateForget(t *testing.T) {
	t.Parallel()
	l := newLateWrite(t, lateOld)
	l.server.asMaintainer(l.a)
	held := l.proxy.Hold(func(r chaos.Request) bool { return r.Method == http.MethodPut })
	defer held.Release()
	ended := make(chan outcome, 1)
	go func() { ended <- l.a.run("forget", l.key) }()
	select {
	case <-held.Came():
	case o := <-ended:
		t.Fatalf("forget sent nothing: %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	l.writeTheirs()
	held.Release()
	o := <-ended
	if o.code == 0 || !strings.Contains(o.stderr, l.key) || !strings.Contains(o.stderr, "teammemd history") {
		t.Errorf("forget ended with %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	l.a.sync(0)
	if text, _ := l.a.read(l.key); text != lateTheirs {
		t.Errorf("the newer text is %q where it was forgotten", text)
	}
	l.a.ok("forget", l.key) // now it is meant
	if text, there := l.a.read(l.key); there {
		t.Errorf("%q stays after a second forget", text)
	}
}

// lateWrite is two machines, the first behind a proxy, and who has seen what.
type lateWrite struct {
	t       *testing.T
	key     string
	old     string // what both have before, "" for nothing
	server  *companion
	proxy   *chaos.Proxy
	a, b    *machine
	reader  string
	saw     map[*machine]map[api.Checksum]bool
	authors map[api.Checksum]*machine
}

func newLateWrite(t *testing.T, old string) *lateWrite {
	t.Helper()
	l := &lateWrite{
		t: t, key: "dir/way.md", old: old, server: newCompanion(t), a: newFastMachine(t, "ada"), b: newFastMachine(t, "ben"),
		saw: make(map[*machine]map[api.Checksum]bool), authors: make(map[api.Checksum]*machine),
	}
	l.proxy = chaos.Start(t, chaos.Options{Target: l.server.url})
	l.reader = l.server.token("reader", team, "reader")
	writer := l.server.token("both", team, "writer")
	l.a.enroll(l.proxy.URL(), writer, team)
	l.b.enroll(l.server.url, writer, team)
	l.saw[l.a], l.saw[l.b] = make(map[api.Checksum]bool), make(map[api.Checksum]bool)
	for _, m := range []*machine{l.a, l.b} {
		m.write("stays.md", "stays\n")
		if old != "" {
			l.write(m, old)
		}
		m.sync(0)
		l.look(m)
	}
	return l
}

// write saves a text of the key, whose author is the machine.
func (l *lateWrite) write(m *machine, text string) {
	l.t.Helper()
	m.write(l.key, text)
	l.authors[api.SumString(text)] = m
	l.look(m)
}

// look notes what the person at the machine sees in the team directory.
func (l *lateWrite) look(m *machine) {
	l.t.Helper()
	if text, there := m.read(l.key); there {
		l.saw[m][api.SumString(text)] = true
	}
}

func (l *lateWrite) writeTheirs() {
	l.t.Helper()
	l.write(l.b, lateTheirs)
	if r := l.b.sync(0); r.Sent != 1 {
		l.t.Fatalf("the newer version was not sent: %+v", r)
	}
}

// race makes A write and send, and B act while that is on its way.
func (l *lateWrite) race(how string, act func()) {
	l.t.Helper()
	late := func(r chaos.Request) bool {
		return r.Method == http.MethodPut && bytes.Contains(r.Body, []byte(strings.TrimSpace(lateMine)))
	}
	held := l.proxy.Hold(late)
	defer held.Release()
	var hand *process
	if how == "daemon" {
		hand = l.a.daemon()
		l.write(l.a, lateMine)
	} else {
		l.write(l.a, lateMine)
		hand = l.a.start("sync")
	}
	select {
	case <-held.Came():
	case <-time.After(time.Minute):
		l.t.Fatalf("nothing was sent in a minute\n%s", hand.talk())
	}
	act()
	held.Release()
	if how == "sync" {
		if code := hand.wait(); code != 3 {
			l.t.Errorf("sync ended with %d, want 3\n%s%s", code, hand.results(), hand.talk())
		}
	}
	var first chaos.Request
	await(l.t, time.Minute, "the answer to the late write", func() bool {
		all := l.proxy.Requests()
		first = all[slices.IndexFunc(all, late)]
		return first.Status != 0
	})
	var sent api.PushRequest
	if err := json.Unmarshal(first.Body, &sent); err != nil {
		l.t.Fatal(err)
	}
	want := ""
	if l.old != "" {
		want = api.SumString(l.old).String()
	}
	if got, there := sent.Expect[l.key]; !there || got != want {
		l.t.Errorf("the late write expects %q (there: %t), want %q", got, there, want)
	}
	if first.Status != http.StatusPreconditionFailed {
		l.checkOrder()
		l.t.Fatalf("the late write was answered %d, want 412", first.Status)
	}
}

// wantTheirs: B's version is in place everywhere, and A's text among A's copies.
func (l *lateWrite) wantTheirs() {
	l.t.Helper()
	l.a.awaitFile(l.key, lateTheirs)
	l.wantSaved()
	// Who has read the newer text may write over it.
	l.look(l.a)
	l.write(l.a, lateTheirs+lateMine)
	l.a.sync(0)
	l.b.sync(0)
	l.look(l.b)
	l.converged(tree{"stays.md": "stays\n", l.key: lateTheirs + lateMine})
	l.checkOrder()
}

// wantForgotten: the key stays retired. A's text stays where it was written, held,
// until A lets it go: then it is among the copies.
func (l *lateWrite) wantForgotten() {
	l.t.Helper()
	await(l.t, time.Minute, "the edit to be held", func() bool {
		h, held := l.a.status().heldFor(l.key)
		return held && h.Reason == string(api.HeldForgottenOnServer)
	})
	if text, _ := l.a.read(l.key); text != lateMine {
		l.t.Errorf("the edit of a retired key is now %q", text)
	}
	if full, _ := l.server.get(l.reader, team); full.Content.Entries[l.key] != "" {
		l.t.Errorf("the retired key came back as %q", full.Content.Entries[l.key])
	}
	l.a.ok("forget", l.key)
	l.a.awaitFile(l.key, "")
	l.wantSaved()
	l.a.sync(0)
	l.b.sync(0)
	l.converged(tree{"stays.md": "stays\n"})
	l.checkOrder()
}

// wantSaved sees A's text among A's saved copies, once, and drops it.
func (l *lateWrite) wantSaved() {
	l.t.Helper()
	if got := l.a.savedCopies(); len(got) != 1 || !slices.Equal(got[l.key], []string{lateMine}) {
		l.t.Errorf("the saved copies of the late one are %q, want its text", got)
	}
	for _, c := range decode[struct{ Conflicts []conflict }](l.t, l.a.ok("conflicts", "list", "--json").stdout).Conflicts {
		l.a.ok("conflicts", "drop", c.ID)
	}
}

// converged sees the same files on both machines and on the server.
func (l *lateWrite) converged(want tree) {
	l.t.Helper()
	full, _ := l.server.get(l.reader, team)
	sameTree(l.t, "the server", want, full.Content.Entries)
	for _, m := range []*machine{l.a, l.b} {
		sameTree(l.t, filepath.Base(m.home), want, treeOf(l.t, m.team))
		if r := m.status(); r.State != "in-sync" || r.Pending != 0 {
			l.t.Errorf("%s is %s with %d pending, want in-sync", filepath.Base(m.home), r.State, r.Pending)
		}
	}
}

// checkOrder reads the key's history: whoever wrote a version had seen the one
// before it.
func (l *lateWrite) checkOrder() {
	l.t.Helper()
	versions := l.server.versions(l.reader, team, l.key)
	slices.Reverse(versions)
	for i, v := range versions[1:] {
		author, before := l.b, versions[i]
		if v.Op == "put" {
			author = l.authors[v.Checksum]
		}
		if author == nil || before.Op == "put" && !l.saw[author][before.Checksum] {
			l.t.Errorf("version %d (%s) replaced version %d (%s), which its author had not seen",
				v.Version, v.Op, before.Version, before.Op)
		}
	}
}
