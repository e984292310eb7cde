package tests

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestOneKeyManyHands lets four daemons edit one key at once: every last word of
// every hand is kept somewhere, and all end with the same file.
func TestOneKeyManyHands(t *testing.T) {
	t.Parallel()
	hands, edits := 4, 12
	if testing.Short() {
		edits = 4
	}
	server := newCompanion(t)
	token := server.token("all", team, "writer")
	machines := make([]*machine, hands)
	for i := range machines {
		machines[i] = newFastMachine(t, fmt.Sprintf("hand-%d", i))
		machines[i].enroll(server.url, token, team)
		machines[i].daemon()
	}
	var all sync.WaitGroup
	for i, m := range machines {
		all.Go(func() {
			random := rand.New(rand.NewPCG(8, uint64(i)))
			for n := range edits {
				replace(t, filepath.Join(m.team, "MEMORY.md"), fmt.Sprintf("edit %d of hand %d\n", n, i))
				time.Sleep(time.Duration(150+random.IntN(200)) * time.Millisecond)
			}
		})
	}
	all.Wait()
	for _, m := range machines[1:] {
		awaitSame(t, time.Minute, machines[0], m)
	}
	await(t, time.Minute, "all to be in sync", func() bool {
		for _, m := range machines {
			if r := m.status(); r.State != "in-sync" || r.Pending > 0 {
				return false
			}
		}
		return true
	})
	full, _ := server.get(token, team)
	sameTree(t, "the server and a hand", full.Content.Entries, treeOf(t, machines[0].team))
	for i, m := range machines {
		account(t, server, team, map[string][]string{"MEMORY.md": {fmt.Sprintf("edit %d of hand %d\n", edits-1, i)}}, m)
	}
}

// TestKilledSync kills `sync` at random moments, sending and receiving: each
// file is whole at every moment, and the next run goes on.
func TestKilledSync(t *testing.T) {
	t.Parallel()
	rounds := 25
	if testing.Short() {
		rounds = 5
	}
	p := newPair(t)
	random := rand.New(rand.NewPCG(77, 1))
	texts := map[string]map[string]bool{} // all that a key ever was
	write := func(m *machine, round int) {
		for i := range 40 {
			key := fmt.Sprintf("note-%02d.md", i)
			text := fmt.Sprintf("round %d, note %d\n%s", round, i, sized(4000+i))
			if texts[key] == nil {
				texts[key] = make(map[string]bool)
			}
			texts[key][text] = true
			m.write(key, text)
		}
	}
	killed := 0
	for round := range rounds {
		from, to := p.a, p.b
		if round%2 == 1 {
			from, to = p.b, p.a
		}
		write(from, round)
		for _, m := range []*machine{from, to} {
			process := m.start("sync")
			time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
			if process.running() {
				killed++
			}
			process.kill()
			for key, text := range treeOf(t, m.team) {
				if !texts[key][text] {
					t.Fatalf("round %d: %s has %d bytes that nobody wrote", round, key, len(text))
				}
			}
			m.sync(0)
		}
		sameTree(t, fmt.Sprintf("round %d", round), treeOf(t, p.a.team), treeOf(t, p.b.team))
		if left, err := filepath.Glob(filepath.Join(to.team, "*")); err != nil || len(left) != 40 {
			t.Fatalf("round %d: %d files in the team directory, want 40", round, len(left))
		}
	}
	for _, m := range []*machine{p.a, p.b} {
		left := 0
		for name := range treeOf(t, filepath.Join(m.state(), "roots")) {
			if filepath.Ext(name) == ".md" {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%d files of a kind that agents read in the state directory", left)
		}
		if _, err := os.Stat(m.team); err != nil {
			t.Error(err)
		}
	}
	if killed < rounds/2 {
		t.Errorf("only %d of %d were killed while they ran", killed, 2*rounds)
	}
	t.Logf("%d of %d killed while they ran", killed, 2*rounds)
}

// TestManySyncs runs several syncs of one root at once: one at a time works, the
// others wait for their turn or say that it is taken.
func TestManySyncs(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for i := range 20 {
		p.a.write(fmt.Sprintf("note-%d.md", i), fmt.Sprintf("note %d\n", i))
	}
	ended := make(chan outcome, 10)
	for range cap(ended) {
		go func() { ended <- p.a.run("sync") }()
	}
	good := 0
	for range cap(ended) {
		switch o := <-ended; o.code {
		case 0:
			good++
		case 75:
			complains(t, o, 75)
		default:
			t.Errorf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
		}
	}
	if good == 0 {
		t.Error("none succeeded")
	}
	p.b.sync(0)
	sameTree(t, "both machines", treeOf(t, p.a.team), treeOf(t, p.b.team))
}
