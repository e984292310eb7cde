package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/teammem/teammemd/tests/chaos"
)

// TestF27PoisonAndOversize sends a thousand keys of which three are too large and
// one is refused by the server, while an answer is lost after the server has
// taken its batch, another batch meets 503 and one 429: all others arrive, and
// four are held.
func TestF27PoisonAndOversize(t *testing.T) {
	t.Parallel()
	const keys = 1000
	server := newCompanion(t)
	token := server.token("all", team, "writer")
	proxy := chaos.Start(t, chaos.Options{Target: server.url, Seed: 27})
	m := newFastMachine(t, "ada")
	m.enroll(proxy.URL(), token, team)
	want := make(tree)
	for i := range keys - 4 {
		key := fmt.Sprintf("notes/note-%04d.md", i)
		want[key] = fmt.Sprintf("note %d\n%s", i, sized(800))
		m.write(key, want[key])
	}
	// The poison: whatever request it is in is refused, and nobody says why.
	held := map[string]string{"notes/note-0500-poison.md": "refused-by-server"}
	m.write("notes/note-0500-poison.md", "poison\n")
	for i := range 3 {
		key := fmt.Sprintf("notes/large-%d.md", i)
		held[key] = "too-large"
		m.write(key, sized(250_001+i))
	}
	batch := func(part string) func(chaos.Request) bool {
		return func(r chaos.Request) bool { return r.Method == http.MethodPut && bytes.Contains(r.Body, []byte(part)) }
	}
	proxy.Once(batch("notes/note-0001.md"), chaos.ResetAfter)
	proxy.Once(batch("notes/note-0350.md"), chaos.Unavailable)
	proxy.Once(batch("notes/note-0700.md"), chaos.TooMany)
	proxy.Once(batch("notes/note-0950.md"), chaos.Duplicate)

	proxy.Always(batch("note-0500-poison.md"), chaos.Reject)
	m.daemon()
	entries := func() tree {
		full, _ := server.get(token, team)
		return full.Content.Entries
	}
	await(t, time.Minute, "all that can travel to arrive", func() bool { return len(want.differences(entries())) == 0 })
	await(t, time.Minute, "the daemon to say so", func() bool { r := m.status(); return r.State == "in-sync" && r.Pending == 0 })
	r := m.status()
	if len(r.Held) != len(held) || len(r.Conflicts) != 0 {
		t.Errorf("%d held and %d conflicts, want %d and none: %+v", len(r.Held), len(r.Conflicts), len(held), r.Held)
	}
	for key, reason := range held {
		if h, ok := r.heldFor(key); !ok || h.Reason != reason || h.Fix == "" {
			t.Errorf("%s: %+v, want it held as %s with a fix", key, h, reason)
		}
	}
	seen := map[chaos.Fault]int{}
	puts := 0
	for _, r := range proxy.Requests() {
		seen[r.Fault]++
		if r.Method == http.MethodPut {
			puts++
		}
	}
	for _, fault := range []chaos.Fault{chaos.ResetAfter, chaos.Unavailable, chaos.TooMany, chaos.Duplicate} {
		if seen[fault] != 1 {
			t.Errorf("the fault %s met %d requests, want 1", fault, seen[fault])
		}
	}
	if puts > 60 {
		t.Errorf("%d PUTs for six batches, four faults and the halves of a batch of some 200 keys", puts)
	}
	t.Logf("FIGURE %d keys, 3 oversize, 1 poison, 4 faults: %d PUTs, %d held", keys, puts, len(r.Held))
}
