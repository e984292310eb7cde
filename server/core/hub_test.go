package core_test

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

func names(repos []api.Repo) []string {
	out := []string{}
	for _, r := range repos {
		out = append(out, r.String())
	}
	return out
}

func ready(s *core.Subscription) bool {
	select {
	case <-s.Ready():
		return true
	default:
		return false
	}
}

func TestHub(t *testing.T) {
	hub := newCore(t, core.Options{}).Hub()
	a, b, c := repoOf(t, "x/a"), repoOf(t, "x/b"), repoOf(t, "x/c")
	s := hub.Subscribe(b, a)
	other := hub.Subscribe(c)
	defer other.Close()
	if ready(s) {
		t.Error("ready before anything happened")
	}
	hub.Bump(c, 1)
	if ready(s) {
		t.Error("ready for a repo of someone else")
	}
	for v := range uint64(1000) { // nobody reads: nothing may block or pile up
		hub.Bump(b, v)
		hub.Bump(a, v)
	}
	if !ready(s) || ready(s) {
		t.Error("a thousand changes are not one signal")
	}
	if diff := cmp.Diff([]string{"x/a", "x/b"}, names(s.Take())); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	if len(s.Take()) != 0 || ready(s) {
		t.Error("changes are told twice")
	}
	hub.Bump(a, 5)
	if !ready(s) || len(s.Take()) != 1 {
		t.Error("a later change is not told")
	}
	s.Close()
	s.Close()
	hub.Bump(a, 6)
	if ready(s) {
		t.Error("told after Close")
	}
}

// A subscriber that reads the state after each signal ends at the last version,
// whatever it missed.
func TestHubIsSafeToLose(t *testing.T) {
	c := newCore(t, core.Options{})
	repo := repoOf(t, "a/b")
	s := c.Hub().Subscribe(repo)
	defer s.Close()
	const writes = 40
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for j := range writes / 4 {
				put(t, c, repo, entries{string(rune('a' + i)): string(rune('A' + j))})
			}
		})
	}
	var last uint64
	for last < writes {
		<-s.Ready()
		s.Take()
		n, err := c.Notice(context.Background(), repo)
		if err != nil {
			t.Fatal(err)
		}
		if n.Version < last {
			t.Fatalf("version %d after %d", n.Version, last)
		}
		last = n.Version
	}
	writers.Wait()
}
