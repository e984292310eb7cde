package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// errClosed is what an update meets after Close.
var errClosed = errors.New("the store is closed")

// maxGroup bounds the updates that one transaction commits.
const maxGroup = 256

// update is one call of [Store.Update] on its way.
type update struct {
	ctx    context.Context
	repo   api.Repo
	decide func(store.Tx) (store.Change, error)

	// Set by the writer before done is closed.
	head *store.Head
	err  error
	done chan struct{}
}

// Update changes one repo. Whoever comes first writes for everybody who queued
// meanwhile; the others only wait.
func (s *Store) Update(ctx context.Context, repo api.Repo, decide func(store.Tx) (store.Change, error)) (*store.Head, error) {
	u := &update{ctx: ctx, repo: repo, decide: decide, done: make(chan struct{})}
	s.mu.Lock()
	s.queue = append(s.queue, u)
	s.mu.Unlock()
	for {
		select {
		case <-u.done:
			return u.head, u.err
		case s.turn <- struct{}{}:
			s.commitGroup(s.takeQueue())
			<-s.turn
		}
	}
}

func (s *Store) takeQueue() []*update {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), maxGroup)
	group := s.queue[:n:n]
	s.queue = s.queue[n:]
	return group
}

// commitGroup decides and commits a group. When the database refuses a group,
// each of its updates gets a transaction of its own, so that one cannot fail
// the others.
func (s *Store) commitGroup(group []*update) {
	if len(group) == 0 {
		return
	}
	err := s.tryCommit(group)
	if err == nil || len(group) == 1 {
		s.finish(group, err)
		return
	}
	for i := range group {
		alone := group[i : i+1]
		s.finish(alone, s.tryCommit(alone))
	}
}

// finish answers a group. err is the database's; it outranks what was decided,
// because nothing was written.
func (s *Store) finish(group []*update, err error) {
	for _, u := range group {
		if err != nil && u.err == nil {
			u.head, u.err = nil, fmt.Errorf("writing to %q: %w", u.repo, err)
		}
		close(u.done)
	}
}

// tryCommit runs one transaction. The heads it makes become visible only after
// the commit.
func (s *Store) tryCommit(group []*update) (err error) {
	if s.writer == nil {
		return errClosed
	}
	fresh := make(map[api.Repo]*repoRow)
	err = func() (err error) {
		end, err := sqlitex.ImmediateTransaction(s.writer)
		if err != nil {
			return err
		}
		defer end(&err)
		for _, u := range group {
			if err := s.apply(u, fresh); err != nil {
				return err
			}
		}
		return nil
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	for repo, row := range fresh {
		if err != nil {
			s.drop(repo) // the outcome is unknown: read it again
			continue
		}
		s.keep(repo, row)
	}
	return err
}

// apply lets one update decide and writes its rows.
func (s *Store) apply(u *update, fresh map[api.Repo]*repoRow) error {
	u.head, u.err = nil, nil
	if u.err = u.ctx.Err(); u.err != nil {
		return nil
	}
	row := fresh[u.repo]
	if row == nil {
		var err error
		if row, err = s.current(u.repo); err != nil {
			return err
		}
	}
	change, err := decideSafely(u, tx{s.writer, row})
	if err != nil {
		u.head, u.err = row.head, err
		return nil
	}
	change.At = change.At.Truncate(time.Millisecond).UTC()
	next := row.head.Next(change)
	if next != row.head {
		id, err := writeChange(s.writer, row.id, next, change)
		if err != nil {
			return err
		}
		row = &repoRow{id: id, head: next}
		fresh[u.repo] = row
	}
	u.head = row.head
	return nil
}

// decideSafely turns a panic of decide into an error: the writer works for
// others as well.
func decideSafely(u *update, t tx) (change store.Change, err error) {
	defer func() {
		if recover() != nil {
			// What it said may quote an entry.
			err = errors.New("deciding about a change failed; this is a bug")
		}
	}()
	return u.decide(t)
}

// tx is what decide may look at.
type tx struct {
	conn *sqlite.Conn
	row  *repoRow
}

// Head returns the state that the change will build on.
func (t tx) Head() *store.Head { return t.row.head }

// Had reports whether a version of key ever had this content.
func (t tx) Had(key api.Key, sum api.Checksum) (had bool, err error) {
	err = sqlitex.Execute(t.conn, "SELECT 1 FROM versions WHERE repo = ? AND key = ? AND sum = ? LIMIT 1", &sqlitex.ExecOptions{
		Args:       []any{t.row.id, key.String(), sum[:]},
		ResultFunc: func(*sqlite.Stmt) error { had = true; return nil },
	})
	return had, err
}

// writeChange writes the rows of one change and returns the repo's number.
func writeChange(conn *sqlite.Conn, id int64, next *store.Head, c store.Change) (int64, error) {
	if id == 0 {
		if err := exec(conn, "INSERT INTO repos (name, version, modified_ms) VALUES (?, 0, 0)", next.Repo.String()); err != nil {
			return 0, err
		}
		id = conn.LastInsertRowID()
	}
	at := c.At.UnixMilli()
	version := int64(next.Version)
	if err := exec(conn, "UPDATE repos SET version = ?, modified_ms = ? WHERE id = ?", version, at, id); err != nil {
		return 0, err
	}
	for _, p := range c.Puts {
		if err := writePut(conn, id, version, at, p); err != nil {
			return 0, err
		}
		if err := writeVersion(conn, id, version, at, p.Key, store.OpPut, p.Sum[:], len(p.Content), c); err != nil {
			return 0, err
		}
	}
	for _, key := range c.Retire {
		if err := errors.Join(
			exec(conn, "DELETE FROM entries WHERE repo = ? AND key = ?", id, key.String()),
			exec(conn, "INSERT INTO tombs (repo, key, version) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version", id, key.String(), version),
			writeVersion(conn, id, version, at, key, store.OpRetire, nil, 0, c),
		); err != nil {
			return 0, err
		}
	}
	return id, nil
}

func writePut(conn *sqlite.Conn, id, version, at int64, p store.Put) error {
	return errors.Join(
		exec(conn, "INSERT INTO bodies (repo, sum, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", id, p.Sum[:], p.Content),
		exec(conn, `INSERT INTO entries (repo, key, sum, bytes, version, modified_ms) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes, version = excluded.version, modified_ms = excluded.modified_ms`,
			id, p.Key.String(), p.Sum[:], len(p.Content), version, at),
		exec(conn, "DELETE FROM tombs WHERE repo = ? AND key = ?", id, p.Key.String()),
	)
}

func writeVersion(conn *sqlite.Conn, id, version, at int64, key api.Key, op store.Op, sum []byte, bytes int, c store.Change) error {
	var stored any
	if sum != nil {
		stored = sum
	}
	return exec(conn, `INSERT INTO versions (repo, key, version, op, sum, bytes, at_ms, token, person, device, agent, session, rules)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		id, key.String(), version, string(op), stored, bytes, at,
		c.Actor.Token, c.Actor.Person, c.Actor.Device, c.Actor.Agent, c.Actor.Session, c.Rules)
}

func exec(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}
