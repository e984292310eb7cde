package sqlitestore

import (
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// What one transaction commits at most: the first bounds the wait of the first
// in the group, the second the memory and the log.
const (
	maxGroup      = 256
	maxGroupBytes = 8 << 20
)

var (
	errDecide     = errors.New("deciding about a change failed: this is a bug")
	errRolledBack = errors.New("the database gave up the transaction")
)

// group is what one transaction commits. It belongs to whoever holds the turn.
type group struct {
	store *Store
	taken []*update
	heads map[api.Repo]store.Loaded // as this transaction leaves them
	bytes int
}

// commitGroup commits what is queued, up to a group, in one transaction, and
// reports whether there was anything. The caller holds the turn.
func (s *Store) commitGroup() bool {
	first := s.dequeue()
	if first == nil {
		return false
	}
	g := &group{store: s, taken: []*update{first}, heads: make(map[api.Repo]store.Loaded)}
	err := errDecide // stands when decide ends the goroutine
	defer func() { g.finish(err) }()
	err = transact(s.writer, g.run)
	return true
}

// run takes updates from the queue as long as there are any, so those that come
// while it works still join.
func (g *group) run() error {
	for i := 0; ; i++ {
		if i == len(g.taken) {
			if i >= maxGroup || g.bytes >= maxGroupBytes {
				return nil
			}
			u := g.store.dequeue()
			if u == nil {
				return nil
			}
			g.taken = append(g.taken, u)
		}
		if err := g.apply(g.taken[i]); err != nil {
			return err
		}
	}
}

// apply lets one update decide and writes its rows. An error is the database's
// and ends the whole group; what concerns u alone is in u.err.
func (g *group) apply(u *update) error {
	before, change, err := g.decide(u)
	if g.store.writer.AutocommitEnabled() {
		// SQLite rolled back on its own; another statement would stand alone.
		return errors.Join(errRolledBack, err)
	}
	u.head, u.err = before.Head, err
	if err != nil {
		return nil
	}
	next := before.Head.Next(change)
	if next == before.Head {
		return nil
	}
	id, err := writeChange(g.store.writer, before.ID, next, change)
	if err != nil {
		return err
	}
	g.heads[u.repo] = store.Loaded{Head: next, ID: id}
	u.head = next
	for _, p := range change.Puts {
		g.bytes += len(p.Content)
	}
	return nil
}

// decide returns the head that an update builds on, and its change, checked.
func (g *group) decide(u *update) (before store.Loaded, change store.Change, err error) {
	if err = u.ctx.Err(); err == nil {
		before, err = g.head(u.repo)
	}
	if err != nil {
		return before, change, fmt.Errorf("writing to %q: %w", u.repo, err)
	}
	change, err = decideSafely(u, tx{g.store.writer, before})
	if err == nil {
		err = change.Validate()
	}
	change.At = change.At.Truncate(time.Millisecond).UTC()
	return before, change, err
}

// head returns the head of a repo as the transaction sees it.
func (g *group) head(repo api.Repo) (store.Loaded, error) {
	if l, ok := g.heads[repo]; ok {
		return l, nil
	}
	if l, ok := g.store.heads.Get(repo); ok {
		return l, nil
	}
	l, err := load(g.store.writer, g.store.epoch, repo)
	if err == nil && l.ID != 0 {
		g.heads[repo] = l
	}
	return l, err
}

// finish publishes the heads and answers every update. err is the database's;
// it outranks what was decided, which rests on heads that never came to be.
func (g *group) finish(err error) {
	for repo, l := range g.heads {
		if err != nil {
			g.store.heads.Drop(repo)
			continue
		}
		g.store.heads.Put(repo, l)
	}
	for _, u := range g.taken {
		if err != nil {
			u.head, u.err = nil, fmt.Errorf("writing to %q: %w", u.repo, err)
		}
		close(u.done)
	}
}

// decideSafely turns a panic of decide into an error: the writer works for
// others as well.
func decideSafely(u *update, t tx) (change store.Change, err error) {
	defer func() {
		if recover() != nil {
			err = errDecide // without what it said, which may quote an entry
		}
	}()
	return u.decide(t)
}

// tx is what decide may look at.
type tx struct {
	conn *sqlite.Conn
	row  store.Loaded
}

// Head returns the state that the change will build on.
func (t tx) Head() *store.Head { return t.row.Head }

// Had reports whether a version of key ever had this content.
func (t tx) Had(key api.Key, sum api.Checksum) (had bool, err error) {
	err = query(t.conn, "SELECT 1 FROM versions WHERE repo = ? AND key = ? AND sum = ? LIMIT 1",
		[]any{t.row.ID, key.String(), sum[:]}, func(*sqlite.Stmt) error { had = true; return nil })
	if err != nil {
		return false, fmt.Errorf("reading a key's history: %w", err)
	}
	return had, nil
}
