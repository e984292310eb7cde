package sqlitestore

import (
	"fmt"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// MaxGroup is the largest group that one transaction commits.
const MaxGroup = maxGroup

// LimitGrowth lets the database grow by so many pages and then be full; a
// negative number lifts the limit.
func (s *Store) LimitGrowth(pages int) error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	limit := 1 << 30
	if pages >= 0 {
		have, err := queryInt(s.writer, "PRAGMA page_count")
		if err != nil {
			return err
		}
		limit = have + pages
	}
	return sqlitex.ExecuteTransient(s.writer, fmt.Sprintf("PRAGMA max_page_count = %d", limit), nil)
}

// Pragma returns a setting of the writer's connection.
func (s *Store) Pragma(name string) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return queryInt(s.writer, "PRAGMA "+name)
}

// QueueLength returns how many updates wait that nobody writes yet.
func (s *Store) QueueLength() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}

// Cached returns the rows of all heads in memory, as counted and as they are.
func (s *Store) Cached() (counted, actual int) {
	s.heads.mu.Lock()
	defer s.heads.mu.Unlock()
	for _, row := range s.heads.rows {
		actual += row.size()
	}
	return s.heads.held, actual
}

// HeadCache is the cache of heads on its own.
type HeadCache struct{ c headCache }

// NewHeadCache returns an empty cache.
func NewHeadCache(limit int) *HeadCache { return &HeadCache{headCache{limit: limit}} }

// Begin says that a reader begins; the function it returns hands in what was read.
func (h *HeadCache) Begin(repo api.Repo) (end func(*store.Head)) {
	h.c.begin(repo)
	return func(head *store.Head) {
		if head == nil {
			h.c.end(repo, nil)
			return
		}
		h.c.end(repo, &repoRow{id: 1, head: head})
	}
}

// Publish is a commit.
func (h *HeadCache) Publish(head *store.Head) { h.c.publish(head.Repo, &repoRow{id: 1, head: head}) }

// Forget is a commit with an unknown outcome.
func (h *HeadCache) Forget(repo api.Repo) { h.c.forget(repo) }

// Get returns the version that is held, 0 for none.
func (h *HeadCache) Get(repo api.Repo) uint64 {
	if row := h.c.get(repo); row != nil {
		return row.head.Version
	}
	return 0
}

// Loads returns the repos that are being read.
func (h *HeadCache) Loads() int { return len(h.c.loads) }
