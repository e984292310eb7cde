package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// DefaultCachedRows is the default of [Options.CachedRows], about 300 MB.
const DefaultCachedRows = 2_000_000

// trusted is how old the feed's last look at the database may be for a head in
// memory to count without asking.
const trusted = 3 * time.Second

// row is a head with what the store knows of its repo. It is immutable.
type row struct {
	id   int64
	head *store.Head
}

func (r *row) size() int { return 1 + len(r.head.Items) + len(r.head.Tombs) + len(r.head.Redacted) }

// cached is a row in memory and how far it can be trusted.
type cached struct {
	*row

	// seen is the feed's era in which the row was read or made: in a later one
	// changes may have been missed.
	seen uint64
	// least is the newest version that the feed told of.
	least uint64
}

// headCache keeps heads. A head in it is a hint, and a base to which what changed
// since is added; the feed says whether that is nothing.
type headCache struct {
	limit int // rows of all heads together; 0 = keep nothing

	mu    sync.Mutex
	rows  map[api.Repo]*cached    // guarded by mu
	reads map[api.Repo]*announced // guarded by mu
	held  int                     // rows in all; guarded by mu
	era   uint64                  // grows when changes may have been missed; guarded by mu
	until time.Time               // the feed's word holds until then; guarded by mu
}

// announced is the readers of a repo that read at this moment: what the feed
// tells meanwhile holds for what they will bring.
type announced struct {
	readers int
	least   uint64
}

// get returns what is in memory of a repo, nil for nothing, and whether it is
// known to be current.
func (c *headCache) get(repo api.Repo) (r *row, current bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.rows[repo]
	if have == nil {
		return nil, false
	}
	return have.row, have.seen == c.era && have.head.Version >= have.least && time.Now().Before(c.until)
}

// now returns the era of this moment.
func (c *headCache) now() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.era
}

// begin announces a reader and returns the era in which it reads.
func (c *headCache) begin(repo api.Repo) (era uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads == nil {
		c.reads = make(map[api.Repo]*announced)
	}
	if c.reads[repo] == nil {
		c.reads[repo] = &announced{}
	}
	c.reads[repo].readers++
	return c.era
}

// end takes in what a reader of an era brought, nil for nothing.
func (c *headCache) end(repo api.Repo, r *row, era uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.reads[repo]
	if a.readers--; a.readers == 0 {
		delete(c.reads, repo)
	}
	if r != nil {
		c.keep(repo, r, era, a.least)
	}
}

// publish takes in the head that a commit made in an era.
func (c *headCache) publish(repo api.Repo, r *row, era uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(repo, r, era, 0)
}

// keep puts a row into memory, unless a newer one is there. mu is held.
func (c *headCache) keep(repo api.Repo, r *row, era, least uint64) {
	if c.limit == 0 {
		return
	}
	if have := c.rows[repo]; have != nil {
		if sameRepo := have.id == r.id && have.head.Epoch == r.head.Epoch; sameRepo {
			least = max(least, have.least)
			if have.head.Version > r.head.Version || (have.head.Version == r.head.Version && have.seen > era) {
				return
			}
		}
		c.drop(repo)
	}
	for other := range c.rows { // any will do
		if c.held+r.size() <= c.limit {
			break
		}
		c.drop(other)
	}
	if c.rows == nil {
		c.rows = make(map[api.Repo]*cached)
	}
	c.rows[repo] = &cached{row: r, seen: era, least: least}
	c.held += r.size()
}

// forget takes a repo out: it may have another number by now.
func (c *headCache) forget(repo api.Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(repo)
}

// drop takes a repo out. mu is held.
func (c *headCache) drop(repo api.Repo) {
	if have := c.rows[repo]; have != nil {
		c.held -= have.size()
		delete(c.rows, repo)
	}
}

// tell says that a repo has reached a version.
func (c *headCache) tell(repo api.Repo, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.rows[repo]; have != nil {
		have.least = max(have.least, version)
	}
	if a := c.reads[repo]; a != nil {
		a.least = max(a.least, version)
	}
}

// nextEra says that anything may have changed: every head is looked at before it
// counts again.
func (c *headCache) nextEra() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.era++
}

// trust lets the feed's word hold for a while from a time on at which it had told
// everything; the zero time ends it.
func (c *headCache) trust(from time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = from
	if !from.IsZero() {
		c.until = from.Add(trusted)
	}
}

func (c *headCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rows, c.held, c.limit = nil, 0, 0
}

// Head returns the current snapshot: from memory while the feed says that it is,
// else after a look at the database.
func (s *Store) Head(ctx context.Context, repo api.Repo) (*store.Head, error) {
	err := ctx.Err()
	if err == nil && s.isClosed() {
		err = errClosed
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", repo, err)
	}
	r, current := s.heads.get(repo)
	s.meter.HeadRead(current)
	if !current {
		if r, err = s.refresh(ctx, repo); err != nil {
			return nil, fmt.Errorf("reading %q: %w", repo, err)
		}
	}
	if r.head.Version == 0 {
		return nil, fmt.Errorf("%w: %q", store.ErrNoRepo, repo)
	}
	return r.head, nil
}

// refresh brings what is in memory of a repo up to date. The error is
// [store.ErrNoRepo] for a name that nobody used.
func (s *Store) refresh(ctx context.Context, repo api.Repo) (r *row, err error) {
	era := s.heads.begin(repo)
	defer func() { s.heads.end(repo, r, era) }()
	err = s.read(ctx, func(q querier) error {
		var err error
		r, err = s.load(ctx, q, repo)
		return err
	})
	if errors.Is(err, store.ErrNoRepo) {
		s.heads.forget(repo)
	}
	return r, err
}

// load reads a repo's head, as far as it is not in memory.
func (s *Store) load(ctx context.Context, q querier, repo api.Repo) (*row, error) {
	if base, _ := s.heads.get(repo); base != nil {
		r, err := loadSince(ctx, q, repo, base)
		if !errors.Is(err, store.ErrNoRepo) {
			return r, err
		}
	}
	id, err := repoID(ctx, q, repo)
	if err != nil {
		return nil, err
	}
	return loadHead(ctx, q, repo, id)
}
