package sqlitestore

import (
	"sync"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// DefaultCachedRows is the default of [Options.CachedRows]: about 300 MB.
const DefaultCachedRows = 2_000_000

// repoRow is a head with the number of its repo, 0 for one that has none. The
// end of its chain may be an old one: another process may have added to it.
type repoRow struct {
	id    int64
	chain chain
	head  *store.Head
}

// size is what the row counts for in the cache.
func (r *repoRow) size() int { return 1 + len(r.head.Items) + len(r.head.Tombs) + len(r.head.Redacted) }

// headCache keeps heads in memory. What it holds for a repo is always its last
// committed state: the writer publishes before Update returns, and a reader's
// snapshot that a commit overtook is not taken in, however old the commit.
type headCache struct {
	limit int // rows; 0 keeps nothing, for a store that does not serve

	mu     sync.Mutex
	rows   map[api.Repo]*repoRow // guarded by mu
	held   int                   // sizes of rows together; guarded by mu
	loads  map[api.Repo]*load    // guarded by mu
	closed bool                  // guarded by mu
}

// load counts the readers that are taking a snapshot of one repo.
type load struct {
	readers   int
	overtaken bool // a commit was published since the first of them began
}

func (c *headCache) get(repo api.Repo) *repoRow {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rows[repo]
}

// publish takes in what the writer committed, or read while it held the
// database's write lock.
func (c *headCache) publish(repo api.Repo, row *repoRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loads[repo]; l != nil {
		l.overtaken = true
	}
	c.keep(repo, row)
}

// forget drops a head whose commit has an unknown outcome.
func (c *headCache) forget(repo api.Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.loads[repo]; l != nil {
		l.overtaken = true
	}
	c.drop(repo)
}

// forgetAll drops every head: what all of them share has changed.
func (c *headCache) forgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.loads {
		l.overtaken = true
	}
	c.rows, c.held = nil, 0
}

// begin says that a reader is about to take a snapshot of repo; end must follow.
func (c *headCache) begin(repo api.Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.loads[repo]
	if l == nil {
		l = &load{}
		if c.loads == nil {
			c.loads = make(map[api.Repo]*load)
		}
		c.loads[repo] = l
	}
	l.readers++
}

// end takes in what a reader found, nil for nothing, unless it may be old.
func (c *headCache) end(repo api.Repo, row *repoRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.loads[repo]
	if row != nil && !l.overtaken && c.rows[repo] == nil {
		c.keep(repo, row)
	}
	if l.readers--; l.readers == 0 {
		delete(c.loads, repo)
	}
}

// keep takes in a head and makes room for it. mu is held.
func (c *headCache) keep(repo api.Repo, row *repoRow) {
	c.drop(repo)
	if c.limit == 0 || c.closed {
		return
	}
	if c.rows == nil {
		c.rows = make(map[api.Repo]*repoRow)
	}
	c.rows[repo] = row
	c.held += row.size()
	for other := range c.rows {
		if c.held <= c.limit {
			return
		}
		if other != repo {
			c.drop(other) // in the map's random order: nothing to maintain on reads
		}
	}
}

// drop takes a head out. mu is held.
func (c *headCache) drop(repo api.Repo) {
	if old := c.rows[repo]; old != nil {
		c.held -= old.size()
		delete(c.rows, repo)
	}
}

// close drops everything, so that no call after Close is answered.
func (c *headCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.held, c.closed = nil, 0, true
}

func (c *headCache) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
