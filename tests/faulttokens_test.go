package tests

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestF21TokenRotation replaces the token file five hundred times, and lets the
// server know the newest token only, while a daemon works and `sync` runs on the
// same file without pause. In half of the rounds the server forgets the old token
// before the file has the new one. Nothing is dropped, and nobody has to start
// anything again.
func TestF21TokenRotation(t *testing.T) {
	t.Parallel()
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	server := newBaseServer(t)
	tokenOf := func(round int) string { return fmt.Sprintf("token-of-round-%d", round) }
	counts := func(round int) {
		server.mu.Lock()
		defer server.mu.Unlock()
		server.token = tokenOf(round)
	}
	counts(0)
	a, b := newFastMachine(t, "daemon"), newFastMachine(t, "by-hand")
	a.config("debounce = \"100ms\"\npoll = \"1s\"\n")
	a.enroll(server.url, tokenOf(0), team)
	file := filepath.Join(a.home, "token")
	b.ok("init", "--server", server.url, "--token-file", file, "--repo", team, "--team-dir", b.team, "--yes")
	a.daemon()

	over, done := make(chan struct{}), sync.WaitGroup{}
	codes := make(map[int]int)
	done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			default:
			}
			b.write("by-hand.md", fmt.Sprintf("edit %d\n", n))
			codes[b.run("sync").code]++
		}
	})
	want := make(tree)
	for round := 1; round <= rounds; round++ {
		steps := []func(){func() { counts(round) }, func() { replace(t, file, tokenOf(round)+"\n") }}
		if round%2 == 0 {
			steps[0], steps[1] = steps[1], steps[0]
		}
		steps[0]()
		key := fmt.Sprintf("note-%d.md", round%20)
		want[key] = fmt.Sprintf("round %d\n", round)
		replace(t, filepath.Join(a.team, key), want[key])
		time.Sleep(10 * time.Millisecond)
		steps[1]()
		time.Sleep(10 * time.Millisecond)
	}
	close(over)
	done.Wait()
	await(t, time.Minute, "all edits to arrive", func() bool {
		return len(want.differences(server.has().without("by-hand.md"))) == 0
	})
	b.sync(0)
	await(t, time.Minute, "both to be in step", func() bool {
		r := a.status()
		return r.State == "in-sync" && r.Pending == 0 && len(treeOf(t, a.team).differences(treeOf(t, b.team))) == 0
	})
	server.mu.Lock()
	refused := server.refused
	server.mu.Unlock()
	t.Logf("%d rounds, %d requests with a token that did not count, exit codes of sync %v", rounds, refused, codes)
	for code, n := range codes {
		if code != 0 && code != 4 && code != 75 {
			t.Errorf("sync ended %d times with %d", n, code)
		}
	}
	if refused == 0 || codes[0] == 0 {
		t.Error("no token was refused, or no sync succeeded: the rounds prove nothing")
	}
	if copies := a.savedCopies(); len(copies) > 0 {
		t.Errorf("saved copies of edits that nobody else made: %v", copies)
	}
}

// TestF21SignedOutDropsNothing revokes the token of a working daemon at a real
// server: everything stays and counts as pending, and the daemon goes on within
// seconds of the file having a token that counts.
func TestF21SignedOutDropsNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a := newFastMachine(t, "rotated")
	create := func(n int) (id, token string) {
		created := decode[struct{ ID, Token string }](t, p.server.ok("server", "token", "create", "--json", "--name", fmt.Sprintf("n-%d", n),
			"--repo", team, "--role", "writer", "--data", p.server.data).stdout)
		return created.ID, created.Token
	}
	id, token := create(0)
	a.enroll(p.server.url, token, team)
	a.daemon()
	file := filepath.Join(a.home, "token")
	want := make(tree)
	for round := 1; round <= 3; round++ {
		p.server.ok("server", "token", "revoke", id, "--data", p.server.data)
		p.b.write("theirs.md", fmt.Sprintf("round %d\n", round))
		await(t, 20*time.Second, "the daemon to be signed out", func() bool {
			key := fmt.Sprintf("round-%d.md", round) // until it is refused, writing makes it try
			want[key] += "more\n"
			a.write(key, want[key])
			time.Sleep(200 * time.Millisecond)
			return a.status().State == "signed-out"
		})
		p.b.sync(0)
		want["while-out.md"] = fmt.Sprintf("round %d\n", round)
		a.write("while-out.md", want["while-out.md"])
		complains(t, a.run("sync"), 4)
		if r := a.status(); r.State != "signed-out" || r.Pending < 1 {
			t.Errorf("round %d: %s with %d pending, want signed-out with some", round, r.State, r.Pending)
		}
		if diff := want.without("theirs.md").differences(treeOf(t, a.team).without("theirs.md")); len(diff) > 0 {
			t.Errorf("round %d: something was dropped: %v", round, diff)
		}
		id, token = create(round)
		replace(t, file, token+"\n")
		begun := time.Now()
		want["theirs.md"] = fmt.Sprintf("round %d\n", round)
		await(t, 30*time.Second, "the daemon to go on by itself", func() bool {
			r := a.status()
			return r.State == "in-sync" && r.Pending == 0 && len(want.differences(treeOf(t, a.team))) == 0
		})
		t.Logf("FIGURE a new token to in step: %d ms", time.Since(begun).Milliseconds())
	}
	p.b.sync(0)
	sameTree(t, "both machines", treeOf(t, a.team), treeOf(t, p.b.team))
}
