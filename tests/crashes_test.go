package tests

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestCrashesLoseNothing kills daemons and server by SIGKILL at random moments
// while files are edited on both machines, and finds every text again.
func TestCrashesLoseNothing(t *testing.T) {
	t.Parallel()
	kills := 12
	if testing.Short() {
		kills = 3
	}
	p := newPair(t)
	reader := p.server.token("auditor", team, "reader")
	random := rand.New(rand.NewPCG(2026, uint64(kills)))
	daemons := map[*machine]*process{p.a: p.a.daemon(), p.b: p.b.daemon()}
	machines := []*machine{p.a, p.b}
	last := map[*machine]tree{p.a: {}, p.b: {}} // the last text of each person for each key
	edit := func(n int) {
		m := machines[random.IntN(2)]
		key := fmt.Sprintf("dir-%d/note-%d.md", random.IntN(3), random.IntN(6))
		if random.IntN(3) == 0 {
			key = fmt.Sprintf("new/note-%d.md", n)
		}
		text := fmt.Sprintf("edit %d on %s\n%s", n, filepath.Base(m.home), sized(random.IntN(3000)))
		if random.IntN(2) == 0 {
			m.write(key, text)
		} else {
			replace(t, filepath.Join(m.team, key), text)
		}
		last[m][key] = text
	}
	edits := 0
	for range kills {
		for range 2 + random.IntN(6) {
			edit(edits)
			edits++
			time.Sleep(time.Duration(random.IntN(120)) * time.Millisecond)
		}
		m := machines[random.IntN(2)]
		if random.IntN(3) == 0 {
			p.server.kill()
			edit(edits)
			edits++
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
			p.server.again()
			continue
		}
		daemons[m].kill()
		edit(edits)
		edits++
		time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		daemons[m] = m.daemon()
	}
	inStep := func() bool {
		full, _ := p.server.get(reader, team)
		return len(treeOf(t, p.a.team).differences(tree(full.Content.Entries))) == 0 &&
			len(treeOf(t, p.b.team).differences(tree(full.Content.Entries))) == 0
	}
	await(t, time.Minute, "both machines and the server to agree", inStep)
	for m, daemon := range daemons {
		if code := daemon.stop(); code != 0 {
			t.Errorf("the daemon of %s ended with %d", filepath.Base(m.home), code)
		}
	}
	if !inStep() {
		t.Error("they agreed, and then did not")
	}
	for _, m := range machines {
		written := make(map[string][]string)
		for key, text := range last[m] {
			written[key] = []string{text}
		}
		account(t, p.server, team, written, m)
	}
	checkSums(t, p.server, reader)
	t.Logf("%d edits, %d kills", edits, kills)
}

// checkSums recomputes what the server says of its entries.
func checkSums(t *testing.T, server *companion, token string) {
	t.Helper()
	full, _ := server.get(token, team)
	for key, text := range full.Content.Entries {
		if got := full.Content.EntryChecksums[key]; got != api.SumString(text).String() {
			t.Errorf("the server's checksum of %s is not that of its content", key)
		}
	}
}
