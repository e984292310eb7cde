package sqlitestore_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

func version(n uint64) *store.Head { return &store.Head{Repo: acme, Version: n} }

func TestCacheRefusesWhatACommitOvertook(t *testing.T) {
	elsewhere := &store.Head{Repo: mustRepo("acme/other"), Version: 1, Items: make([]store.Item, 3)}
	for _, c := range []struct {
		name string
		run  func(c *sqlitestore.HeadCache)
		want uint64
	}{
		{"a reader alone", func(c *sqlitestore.HeadCache) { c.Begin(acme)(version(1)) }, 1},
		{"a reader that found nothing", func(c *sqlitestore.HeadCache) { c.Begin(acme)(nil) }, 0},
		{"a commit during the read", func(c *sqlitestore.HeadCache) {
			end := c.Begin(acme)
			c.Publish(version(2))
			end(version(1))
		}, 2},
		{"a commit during the read, evicted since", func(c *sqlitestore.HeadCache) {
			end := c.Begin(acme)
			c.Publish(version(2))
			c.Publish(elsewhere)
			end(version(1))
		}, 0},
		{"a second reader beside an overtaken one", func(c *sqlitestore.HeadCache) {
			end := c.Begin(acme)
			c.Publish(version(2))
			c.Publish(elsewhere)
			c.Begin(acme)(version(2)) // it may be right, but nobody can tell
			end(version(1))
		}, 0},
		{"a reader after the overtaken one", func(c *sqlitestore.HeadCache) {
			end := c.Begin(acme)
			c.Publish(version(2))
			c.Publish(elsewhere)
			end(version(1))
			c.Begin(acme)(version(2))
		}, 2},
		{"an unknown outcome", func(c *sqlitestore.HeadCache) {
			c.Publish(version(1))
			end := c.Begin(acme)
			c.Forget(acme)
			end(version(1))
		}, 0},
		{"a commit of another repo", func(c *sqlitestore.HeadCache) {
			end := c.Begin(acme)
			c.Publish(elsewhere)
			end(version(1))
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := sqlitestore.NewHeadCache(4)
			c.run(cache)
			if got := cache.Get(acme); got != c.want {
				t.Errorf("version %d is held, want %d", got, c.want)
			}
			if got := cache.Loads(); got != 0 {
				t.Errorf("%d loads are still noted", got)
			}
		})
	}
}

func TestCacheIsBoundedAndCounted(t *testing.T) {
	const limit = 40
	s := open(t, sqlitestore.Options{Dir: t.TempDir(), Serve: true, CachedRows: limit})
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 60 {
				repo := mustRepo(fmt.Sprintf("acme/r%d", (i*7+w)%25))
				if _, err := s.Update(t.Context(), repo, putting(fmt.Sprintf("%d.md", i%9), fmt.Sprint(w, i))); err != nil {
					t.Errorf("updating: %v", err)
				}
				if _, err := s.Head(t.Context(), mustRepo(fmt.Sprintf("acme/r%d", i%25))); err != nil && !errors.Is(err, store.ErrNoRepo) {
					t.Errorf("reading: %v", err)
				}
				if counted, actual := s.Cached(); counted != actual || counted > limit+10 {
					t.Errorf("%d rows counted, %d held, limit %d", counted, actual, limit)
				}
			}
		})
	}
	all.Wait()
}
