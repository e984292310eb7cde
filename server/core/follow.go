package core

import (
	"context"
	"fmt"
	"sync"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Follow lets what other servers change take effect here: it wakes the readers of
// a repo, forgets policies that are not what they were, and throws away an index
// that may hold what was redacted, also when nobody asks for the repo any more. It
// returns nil when ctx ends.
func (c *Core) Follow(ctx context.Context, feed store.Feed) error {
	moved := movedRepos{bell: make(chan struct{}, 1)}
	var cleaning sync.WaitGroup
	cleaning.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-moved.bell:
			}
			for repo := range moved.take() {
				c.dropRedacted(ctx, repo)
			}
		}
	})
	err := feed.Follow(ctx, func(repo api.Repo, version uint64) {
		switch {
		case repo.IsZero():
			c.policies.dropAll()
			moved.add(c.searches.repos()...)
			c.hub.BumpAll()
		case version == 0:
			c.policies.drop(repo)
		default:
			if c.searches.holds(repo) {
				moved.add(repo)
			}
			c.hub.Bump(repo, version)
		}
	})
	cleaning.Wait()
	if err != nil {
		return fmt.Errorf("following other servers: %w", err)
	}
	return nil
}

// dropRedacted throws away the index of a repo if a content in it was redacted, or
// if that cannot be known.
func (c *Core) dropRedacted(ctx context.Context, repo api.Repo) {
	head, err := c.o.Store.Head(ctx, repo)
	if err != nil || head.Repo != repo {
		c.searches.drop(repo)
		return
	}
	c.searches.moved(head)
}

// movedRepos collects the repos that have moved on, for one who looks at each
// once, however often it did.
type movedRepos struct {
	bell chan struct{} // holds one value while repos is not empty

	mu    sync.Mutex
	repos map[api.Repo]bool // guarded by mu
}

func (m *movedRepos) add(repos ...api.Repo) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.repos == nil {
		m.repos = make(map[api.Repo]bool, len(repos))
	}
	for _, repo := range repos {
		m.repos[repo] = true
	}
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

func (m *movedRepos) take() map[api.Repo]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	repos := m.repos
	m.repos = nil
	return repos
}
