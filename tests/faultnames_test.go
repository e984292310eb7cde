package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestF15TwinsAreRefused pushes, past every client of ours, keys that are equal to
// one that is there after normal form C and case folding: 422 key_conflict, and
// nothing of that request is stored.
func TestF15TwinsAreRefused(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	token := server.token("raw", team, "writer")
	there := map[string]string{"README.md": "upper\n", "stra\u00dfe.md": "eszett\n", "caf\u00e9/Menu.md": "dir\n", "\u0130stanbul.md": "dotted\n"}
	if a := server.push(token, team, there); a.status != 200 {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	for _, twin := range []string{"readme.md", "Readme.MD", "STRASSE.md", "Stra\u00dfe.md", "caf\u00c9/Menu.md", "caf\u00e9/menu.md", "README.md/below.md", "caf\u00e9"} {
		a := server.push(token, team, map[string]string{twin: "twin\n", "fine.md": "fine\n"})
		var wire api.ErrorBody
		if err := json.Unmarshal(a.body, &wire); err != nil {
			t.Fatal(err)
		}
		findings := wire.Error.Details.Findings
		if a.status != 422 || wire.Error.Details.ErrorCode != "key_conflict" || len(findings) != 1 || findings[0].Key != twin {
			t.Errorf("%q: status %d, %s; want 422 key_conflict that names it", twin, a.status, a.body)
		}
	}
	a := server.push(token, team, map[string]string{"cafe\u0301/Menu.md": "decomposed\n"})
	if a.status != 422 {
		t.Errorf("a decomposed key: status %d, want 422", a.status)
	}
	full, _ := server.get(token, team)
	sameTree(t, "the server", there, full.Content.Entries)
}

// TestF16NormalForms has one name in both Unicode normal forms in one directory:
// one key, one held, and ten cycles by hand and ten under a daemon send nothing
// more.
func TestF16NormalForms(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const composed, decomposed = "caf\u00e9/gr\u00fc\u00dfe.md", "caf\u00e9/gru\u0308\u00dfe.md"
	p.a.write(composed, "composed\n")
	p.a.write(decomposed, "decomposed\n")
	if len(treeOf(t, p.a.team)) != 2 {
		t.Skip("SKIP: the file system takes both names for one")
	}
	reader := p.server.token("reader", team, "reader")
	want := tree{composed: "composed\n"}
	check := func(when string, version uint64) {
		t.Helper()
		full, _ := p.server.get(reader, team)
		if full.Version != version {
			t.Errorf("%s: version %d, want %d", when, full.Version, version)
		}
		sameTree(t, when, want, full.Content.Entries)
		sameTree(t, when+", here", tree{composed: want[composed], decomposed: "decomposed\n"}, treeOf(t, p.a.team))
	}
	for cycle := range 10 {
		r := p.a.sync(3)
		if h, ok := heldNamed(r, decomposed); !ok || h.Reason != "case-twin" || h.Fix == "" || len(r.Held) != 1 {
			t.Fatalf("cycle %d: held %+v, want %q as case-twin", cycle, r.Held, decomposed)
		}
		if sent := min(1, max(0, 1-cycle)); r.Sent != sent || r.Received != 0 || r.Restored != 0 || len(r.Conflicts) != 0 {
			t.Fatalf("cycle %d: %d sent, %d received, %d restored, conflicts %v", cycle, r.Sent, r.Received, r.Restored, r.Conflicts)
		}
		check(fmt.Sprintf("cycle %d", cycle), 1)
	}
	p.b.sync(0)
	sameTree(t, "the other machine", want, treeOf(t, p.b.team))
	p.a.daemon()
	for cycle := range 10 {
		now := time.Now()
		if err := os.Chtimes(filepath.Join(p.a.team, decomposed), now, now); err != nil {
			t.Fatal(err)
		}
		p.a.want(3, "sync")
		check(fmt.Sprintf("cycle %d of the daemon", cycle), 1)
	}
	// An edit from elsewhere lands in the one that is the key's, and only there.
	p.b.write(composed, "from the other\n")
	p.b.sync(0)
	await(t, 30*time.Second, "the edit to arrive", func() bool { got, _ := p.a.read(composed); return got == "from the other\n" })
	want[composed] = "from the other\n"
	check("after an edit", 2)
}

// TestF17ModifiedTimes gives files times a day ahead, a day behind, and such as no
// file has: what travels depends on contents alone, and a second cycle moves
// nothing.
func TestF17ModifiedTimes(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	const day = 24 * time.Hour
	now := time.Now()
	times := map[string]time.Time{
		"ahead.md": now.Add(day), "far-ahead.md": now.Add(10 * 365 * day), "behind.md": now.Add(-day),
		"epoch.md": time.Unix(0, 0), "before.md": time.Unix(-1000, 0), "now.md": now, "soon.md": now.Add(300 * time.Millisecond),
	}
	want := make(tree)
	edit := func(m *machine, round int) {
		t.Helper()
		for key, at := range times {
			want[key] = fmt.Sprintf("round %d of %s\n", round, key)
			if err := os.Chtimes(m.write(key, want[key]), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	for round := range 4 { // each edit has the times of the one before
		from, to := p.a, p.b
		if round%2 == 1 {
			from, to = p.b, p.a
		}
		edit(from, round)
		if r := from.sync(0); r.Sent != len(times) || len(r.Conflicts) > 0 {
			t.Errorf("round %d: %d sent, conflicts %v, want %d and none", round, r.Sent, r.Conflicts, len(times))
		}
		if r := to.sync(0); r.Received != len(times) || len(r.Conflicts) > 0 {
			t.Errorf("round %d: %d received, conflicts %v, want %d and none", round, r.Received, r.Conflicts, len(times))
		}
		for _, m := range []*machine{from, to} {
			if r := m.sync(0); r.Sent+r.Received+r.Restored != 0 {
				t.Errorf("round %d: once more: %d sent, %d received, %d restored", round, r.Sent, r.Received, r.Restored)
			}
			sameTree(t, fmt.Sprintf("round %d", round), want, treeOf(t, m.team))
		}
	}
	// Under a daemon too, which waits for a file to be quiet: a time ahead must
	// not make it wait for a day.
	p.a.daemon()
	p.b.daemon()
	edit(p.a, 4)
	await(t, 30*time.Second, "edits with strange times to arrive", func() bool { return len(want.differences(treeOf(t, p.b.team))) == 0 })
}
