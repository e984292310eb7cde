package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var durabilityTests = []test{
	{"everything is there after reopening", testReopen},
	{"everything acknowledged is there after a crash", testCrash},
	{"a crash among writes leaves whole changes", testCrashAmongWrites},
	{"close finishes what was begun", testCloseDrains},
	{"a closed store refuses", testClosed},
}

func fill(t *testing.T, b store.Backend, repo api.Repo) *store.Head {
	t.Helper()
	commit(t, b, repo, puts(t, at(1), "a.md", "one", "b/c.md", "two"))
	commit(t, b, repo, puts(t, at(2), "a.md", "three"))
	return commit(t, b, repo, retires(t, at(3), "b/c.md"))
}

func checkSame(t *testing.T, was, now store.Backend, repo api.Repo) {
	t.Helper()
	equal(t, "head", headOf(t, was, repo), headOf(t, now, repo))
	equal(t, "contents", contents(t, was, repo), contents(t, now, repo))
	equal(t, "history", history(t, was, repo, api.Key{}, 0), history(t, now, repo, api.Key{}, 0))
}

func testReopen(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	head := fill(t, f.Backend, repo)
	versions := history(t, f.Backend, repo, api.Key{}, 0)
	b := f.Reopen()
	equal(t, "head", head, headOf(t, b, repo))
	equal(t, "history", versions, history(t, b, repo, api.Key{}, 0))
	equal(t, "contents", map[string]string{"a.md": "three"}, contents(t, b, repo))
	commit(t, b, repo, puts(t, at(4), "a.md", "four"))
}

func testCrash(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	fill(t, f.Backend, repo)
	if err := f.Backend.AddToken(t.Context(), tokenOf(1)); err != nil {
		t.Fatal(err)
	}
	b := f.Crash()
	checkSame(t, f.Backend, b, repo)
	got, err := b.TokenByHash(t.Context(), tokenOf(1).Hash)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "token", tokenOf(1), got)
}

// testCrashAmongWrites crashes while writers write, several times: what was
// acknowledged before is there, and what is there is whole.
func testCrashAmongWrites(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	var acknowledged uint64
	var running sync.WaitGroup
	for i := range 4 {
		running.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				text := fmt.Sprintf("%d of %d", n, i)
				head, err := f.Backend.Update(t.Context(), repo, always(puts(t, at(n), fmt.Sprintf("%d-a.md", i), text, fmt.Sprintf("%d-b.md", i), text)))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged = max(acknowledged, head.Version)
				mu.Unlock()
			}
		})
	}
	for range 3 {
		before := waitFor(t, f.Backend, repo, 20)
		mu.Lock()
		before = max(before, acknowledged)
		mu.Unlock()
		b := f.Crash()
		if head := headOf(t, b, repo); head.Version < before {
			t.Errorf("version %d was acknowledged, %d is there", before, head.Version)
		}
		live := contents(t, b, repo)
		for i := range 4 {
			if live[fmt.Sprintf("%d-a.md", i)] != live[fmt.Sprintf("%d-b.md", i)] {
				t.Error("half a change is there")
			}
		}
	}
	stop()
	running.Wait()
}

// waitFor returns when the repo has n more versions, with the last it saw.
func waitFor(t *testing.T, b store.Store, repo api.Repo, n uint64) uint64 {
	t.Helper()
	var first uint64
	for {
		head, err := b.Head(t.Context(), repo)
		if err != nil {
			continue // not written yet
		}
		if first == 0 {
			first = head.Version
		}
		if head.Version >= first+n || t.Failed() {
			return head.Version
		}
	}
}

// testCloseDrains closes while writers queue: each either succeeded, and is
// there, or failed.
func testCloseDrains(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	commit(t, f.Backend, repo, puts(t, at(0), "start.md", "x"))
	var mu sync.Mutex
	done := map[string]string{"start.md": "x"}
	failed := 0
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() {
			for n := range 1000 {
				key := fmt.Sprintf("%d/%d.md", i, n)
				_, err := f.Backend.Update(t.Context(), repo, always(puts(t, at(n), key, key)))
				mu.Lock()
				if err == nil {
					done[key] = key
				} else {
					failed++
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	waitFor(t, f.Backend, repo, 50)
	b := f.Reopen()
	running.Wait()
	if failed == 0 {
		t.Error("nobody met the closed store")
	}
	equal(t, "contents", done, contents(t, b, repo))
}

func testClosed(t *testing.T, f Fixture) {
	repo := repoOf(t, "acme/api")
	commit(t, f.Backend, repo, puts(t, at(1), "a.md", "one"))
	f.Reopen()
	if _, err := f.Backend.Update(t.Context(), repo, always(puts(t, at(2), "a.md", "two"))); err == nil {
		t.Error("a closed store took an update")
	}
	if _, err := f.Backend.History(t.Context(), repo, api.Key{}, 0); err == nil {
		t.Error("a closed store answered")
	}
	if _, err := f.Backend.Head(t.Context(), repo); err == nil {
		t.Error("a closed store answered from memory")
	}
	if err := f.Backend.AddToken(t.Context(), tokenOf(1)); err == nil {
		t.Error("a closed store took a token")
	}
}
