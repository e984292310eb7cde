package core

import (
	"container/list"
	"maps"
	"slices"
	"sync"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/search"
	"github.com/teammem/teammemd/server/store"
)

// indexed is the index of one repo at one version. It is immutable.
type indexed struct {
	repo     api.Repo
	epoch    string
	version  uint64
	redacted int // contents that the repo's ledger had then
	index    *search.Index
}

// covers reports whether it shows a head, or a later state of the same store.
func (i *indexed) covers(head *store.Head) bool {
	return i.epoch == head.Epoch && i.version >= head.Version
}

// mayHold reports whether it may hold what head no longer may: a content that was
// redacted since, or anything of a store that was restored.
func (i *indexed) mayHold(head *store.Head) bool {
	return i.epoch != head.Epoch || i.redacted < len(head.Redacted)
}

// making is the making of one index. result and err are set before done is
// closed.
type making struct {
	base   *indexed // what is there to build on, nil for nothing
	done   chan struct{}
	result *indexed // nil: it was thrown away
	err    error

	epoch    string // of the newest head that was seen meanwhile; guarded by searches.mu
	redacted int    // that it had; guarded by searches.mu
}

// searches keeps the newest index of each repo, least recently used first out,
// within a budget of bytes, and sees to it that one is made at a time for a repo.
// What it holds of a repo is thrown away as soon as a head is seen by which a
// content was redacted: whatever held it is made anew.
type searches struct {
	budget int

	mu     sync.Mutex
	used   int                        // guarded by mu
	order  *list.List                 // of *indexed, most recent first; guarded by mu
	byRepo map[api.Repo]*list.Element // guarded by mu
	under  map[api.Repo]*making       // guarded by mu
}

func newSearches(budget int) *searches {
	return &searches{budget: budget, order: list.New(), byRepo: map[api.Repo]*list.Element{}, under: map[api.Repo]*making{}}
}

// get returns the index that shows head or a later state, nil where there is none.
func (s *searches) get(head *store.Head) *indexed {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see(head)
	if el, ok := s.byRepo[head.Repo]; ok {
		if made := el.Value.(*indexed); made.covers(head) {
			s.order.MoveToFront(el)
			return made
		}
	}
	return nil
}

// moved is told that a repo has come to a head.
func (s *searches) moved(head *store.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.see(head)
}

// see throws away what head does not allow to be kept. mu is held.
func (s *searches) see(head *store.Head) {
	if el, ok := s.byRepo[head.Repo]; ok && el.Value.(*indexed).mayHold(head) && !isNewer(el.Value.(*indexed), head) {
		s.remove(el)
	}
	if m := s.under[head.Repo]; m != nil && len(head.Redacted) >= m.redacted {
		m.epoch, m.redacted = head.Epoch, len(head.Redacted)
	}
}

// repos lists the repos of which something is held, or under way.
func (s *searches) repos() []api.Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Collect(maps.Keys(s.byRepo)), slices.Collect(maps.Keys(s.under))...)
}

// holds reports whether something of a repo is held, or under way.
func (s *searches) holds(repo api.Repo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byRepo[repo] != nil || s.under[repo] != nil
}

// drop throws away whatever is held of a repo, and what is under way.
func (s *searches) drop(repo api.Repo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if el, ok := s.byRepo[repo]; ok {
		s.remove(el)
	}
	if m := s.under[repo]; m != nil {
		m.epoch = "none" // a store's own is longer
	}
}

// isNewer reports whether an index is of a later state than head, which then was
// read by somebody slow.
func isNewer(i *indexed, head *store.Head) bool {
	return i.epoch == head.Epoch && i.version > head.Version
}

// begin returns what is under way for a repo, and whether the caller has to make
// it and to call end.
func (s *searches) begin(repo api.Repo) (m *making, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.under[repo]; m != nil {
		return m, false
	}
	m = &making{done: make(chan struct{})}
	if el, ok := s.byRepo[repo]; ok {
		m.base, _ = el.Value.(*indexed)
	}
	s.under[repo] = m
	return m, true
}

// end takes in what was made, unless a content in it was redacted meanwhile.
func (s *searches) end(repo api.Repo, m *making, made *indexed, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.under, repo)
	m.base = nil
	if m.err = err; made != nil && made.redacted >= m.redacted && (m.epoch == "" || m.epoch == made.epoch) {
		m.result = made
		s.keep(made)
	}
	close(m.done)
}

// keep takes in an index and makes room for it. mu is held.
func (s *searches) keep(made *indexed) {
	if el, ok := s.byRepo[made.repo]; ok {
		s.remove(el)
	}
	s.byRepo[made.repo] = s.order.PushFront(made)
	s.used += made.index.Bytes()
	for s.used > s.budget && s.order.Len() > 1 {
		s.remove(s.order.Back())
	}
}

// remove takes an index out. mu is held.
func (s *searches) remove(el *list.Element) {
	old := s.order.Remove(el).(*indexed)
	delete(s.byRepo, old.repo)
	s.used -= old.index.Bytes()
}
