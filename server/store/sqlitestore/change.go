package sqlitestore

import (
	"errors"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var errDecide = errors.New("deciding about a change failed; this is a bug")

// apply lets one update decide and writes its rows. An error is the database's;
// the update's own stays in it.
func (s *Store) apply(u *update, fresh map[api.Repo]*repoRow) error {
	if err := u.ctx.Err(); err != nil {
		u.fail(err)
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
	if s.writer.AutocommitEnabled() {
		return errLostTransaction // a read of decide met an error that ended it
	}
	if err != nil {
		u.answerWith(row.head, err)
		return nil
	}
	change.At = change.At.Truncate(time.Millisecond).UTC()
	next := row.head.Next(change)
	if next == row.head {
		u.answerWith(next, nil)
		return nil
	}
	written, err := s.writeChange(row, next, change)
	if errors.Is(err, store.ErrRenamed) {
		u.fail(err) // before anything was written
		return nil
	}
	if err != nil {
		return err
	}
	fresh[u.repo] = written
	u.answerWith(next, nil)
	return nil
}

// decideSafely turns a panic of decide into an error: the writer works for
// others as well.
func decideSafely(u *update, t tx) (change store.Change, err error) {
	defer func() {
		if recover() != nil {
			err = errDecide // what it said may quote an entry
		}
	}()
	if change, err = u.decide(t); err != nil {
		return store.Change{}, err
	}
	return change, change.Check(t.Head())
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
	err = followKey(t.conn, "v.sum", t.row.id, key, lastChange(t.row.head, key), func(stmt *sqlite.Stmt) (bool, error) {
		this, err := columnSum(stmt, 0)
		had = this == sum
		return !had, err
	})
	return had, err
}
