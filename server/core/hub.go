package core

import (
	"slices"
	"strings"
	"sync"

	"github.com/teammem/teammemd/api"
)

// Hub tells readers that a repo has reached a version. It never blocks, keeps no
// queue and starts no goroutine: a reader that is slow learns the newest version
// of each repo once, which is all there is to know.
type Hub struct {
	mu   sync.Mutex
	subs map[api.Repo]map[*Subscription]struct{}
	open int // subscriptions that were not closed
}

func newHub() *Hub { return &Hub{subs: map[api.Repo]map[*Subscription]struct{}{}} }

// Subscription is one reader's interest in some repos. One goroutine uses it.
type Subscription struct {
	hub   *Hub
	repos []api.Repo
	ready chan struct{} // holds one token while dirty is not empty

	dirty  map[api.Repo]uint64 // guarded by hub.mu
	closed bool                // guarded by hub.mu
}

// Subscribe begins to watch repos. Subscribe first and read the current state
// then, so that no change falls between. The caller must Close.
func (h *Hub) Subscribe(repos ...api.Repo) *Subscription {
	s := &Subscription{hub: h, repos: slices.Clone(repos), ready: make(chan struct{}, 1), dirty: map[api.Repo]uint64{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open++
	for _, repo := range s.repos {
		if h.subs[repo] == nil {
			h.subs[repo] = map[*Subscription]struct{}{}
		}
		h.subs[repo][s] = struct{}{}
	}
	return s
}

// Bump says that repo has reached version. Lost, doubled and late calls do no
// harm.
func (h *Hub) Bump(repo api.Repo, version uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[repo] {
		s.dirty[repo] = max(s.dirty[repo], version)
		select {
		case s.ready <- struct{}{}:
		default:
		}
	}
}

// BumpAll says that any repo may have moved: every reader looks again.
func (h *Hub) BumpAll() {
	h.mu.Lock()
	repos := make([]api.Repo, 0, len(h.subs))
	for repo := range h.subs {
		repos = append(repos, repo)
	}
	h.mu.Unlock()
	for _, repo := range repos {
		h.Bump(repo, 0)
	}
}

// listeners counts the subscriptions.
func (h *Hub) listeners() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Ready returns a channel that yields a value when some repo has moved since the
// last Take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns the repos that have moved since the last Take, sorted by name.
func (s *Subscription) Take() []api.Repo {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	repos := make([]api.Repo, 0, len(s.dirty))
	for repo := range s.dirty {
		repos = append(repos, repo)
	}
	clear(s.dirty)
	slices.SortFunc(repos, func(a, b api.Repo) int { return strings.Compare(a.String(), b.String()) })
	return repos
}

// Close ends the subscription. It may be called twice.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	s.hub.open--
	for _, repo := range s.repos {
		delete(s.hub.subs[repo], s)
		if len(s.hub.subs[repo]) == 0 {
			delete(s.hub.subs, repo)
		}
	}
}
