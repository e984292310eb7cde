package store

import (
	"container/list"
	"context"
	"sync"

	"github.com/teammem/teammemd/api"
)

// Loaded is a head as a backend keeps it in a [Cache].
type Loaded struct {
	Head *Head
	ID   int64 // the backend's own number of the repo; 0 = never written
}

// Cache keeps the most recently used heads of a backend in memory, bounded by
// the number of their rows (a row is about 150 bytes). It is safe for
// concurrent use, and no caller ever waits for the database under its lock.
//
// It never holds a head that is older than the last Put or Drop of its repo,
// even when a slow Load read it before and finished after.
type Cache struct {
	max int

	mu    sync.Mutex
	heads map[api.Repo]*list.Element // of cached; guarded by mu
	used  list.List                  // most recently used first; guarded by mu
	rows  int                        // of all heads together; guarded by mu
	loads map[api.Repo]*load         // under way; guarded by mu
}

type cached struct {
	repo api.Repo
	Loaded
}

// load is one reading of a head that several callers may wait for.
type load struct {
	done   chan struct{}
	loaded Loaded // set before done is closed
	err    error  // set before done is closed
}

// NewCache returns a cache that holds up to maxRows rows. The head that was put
// last stays even when it is larger.
func NewCache(maxRows int) *Cache {
	return &Cache{max: maxRows, heads: make(map[api.Repo]*list.Element), loads: make(map[api.Repo]*load)}
}

// Get returns the head of repo if it is in memory.
func (c *Cache) Get(repo api.Repo) (Loaded, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.get(repo)
}

func (c *Cache) get(repo api.Repo) (Loaded, bool) {
	e := c.heads[repo]
	if e == nil {
		return Loaded{}, false
	}
	c.used.MoveToFront(e)
	return e.Value.(*cached).Loaded, true
}

// Load returns the head of repo, from memory or from read, whose errors it
// passes on and does not remember. Callers that miss at the same time share one
// successful read.
func (c *Cache) Load(ctx context.Context, repo api.Repo, read func(context.Context) (Loaded, error)) (Loaded, error) {
	for {
		c.mu.Lock()
		if l, ok := c.get(repo); ok {
			c.mu.Unlock()
			return l, nil
		}
		other := c.loads[repo]
		if other == nil {
			mine := &load{done: make(chan struct{})}
			c.loads[repo] = mine
			c.mu.Unlock()
			return c.read(ctx, repo, mine, read)
		}
		c.mu.Unlock()
		select {
		case <-other.done:
			if other.err == nil {
				return other.loaded, nil
			}
			// That failure may be the other caller's own, such as its context.
		case <-ctx.Done():
			return Loaded{}, ctx.Err()
		}
	}
}

func (c *Cache) read(ctx context.Context, repo api.Repo, mine *load, read func(context.Context) (Loaded, error)) (Loaded, error) {
	mine.err = context.Canceled // what those who wait see if read panics
	defer close(mine.done)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.loads[repo] != mine {
			return // overtaken by a write
		}
		delete(c.loads, repo)
		if mine.err == nil {
			c.put(repo, mine.loaded)
		}
	}()
	mine.loaded, mine.err = read(ctx)
	return mine.loaded, mine.err
}

// Put replaces the head of repo after a commit.
func (c *Cache) Put(repo api.Repo, l Loaded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loads, repo)
	c.put(repo, l)
}

func (c *Cache) put(repo api.Repo, l Loaded) {
	c.remove(repo)
	c.heads[repo] = c.used.PushFront(&cached{repo, l})
	c.rows += l.Head.rows()
	for c.rows > c.max && c.used.Len() > 1 {
		c.remove(c.used.Back().Value.(*cached).repo)
	}
}

// Drop forgets the head of repo, because a write of unknown outcome may have
// made it old.
func (c *Cache) Drop(repo api.Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loads, repo)
	c.remove(repo)
}

func (c *Cache) remove(repo api.Repo) {
	e := c.heads[repo]
	if e == nil {
		return
	}
	c.rows -= e.Value.(*cached).Head.rows()
	c.used.Remove(e)
	delete(c.heads, repo)
}

// rows is what a head counts for in a cache.
func (h *Head) rows() int { return 1 + len(h.Items) + len(h.Tombs) + len(h.Redacted) }
