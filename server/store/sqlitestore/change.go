package sqlitestore

import (
	"errors"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var (
	errDecide    = errors.New("deciding about a change failed; this is a bug")
	errNamesNone = errors.New("a change names no key")
)

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
	if next != row.head {
		id, err := writeChange(s.writer, row, next, change)
		if err != nil {
			return err
		}
		fresh[u.repo] = &repoRow{id: id, head: next}
	}
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
	return change, checkChange(change)
}

// checkChange refuses what could be written and never read again.
func checkChange(c store.Change) error {
	for _, p := range c.Puts {
		if p.Key.IsZero() {
			return errNamesNone
		}
	}
	for _, key := range c.Retire {
		if key.IsZero() {
			return errNamesNone
		}
	}
	return nil
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

// writeChange writes the rows of one change and returns the repo's number. It
// stops at the first error; see [transact].
func writeChange(conn *sqlite.Conn, row *repoRow, next *store.Head, c store.Change) (int64, error) {
	id := row.id
	if id == 0 {
		if err := exec(conn, "INSERT INTO repos (name, version, modified_ms) VALUES (?, 0, 0)", next.Repo.String()); err != nil {
			return 0, err
		}
		id = conn.LastInsertRowID()
	}
	w := changeWriter{conn: conn, repo: id, version: int64(next.Version), at: c.At.UnixMilli(), change: c}
	w.exec("UPDATE repos SET version = ?, modified_ms = ? WHERE id = ?", w.version, w.at, id)
	for _, p := range c.Puts {
		w.put(p)
		if _, dead := row.head.Tomb(p.Key); dead {
			w.exec("DELETE FROM tombs WHERE repo = ? AND key = ?", id, p.Key.String())
		}
	}
	for _, key := range c.Retire {
		w.retire(key)
	}
	return id, w.err
}

// changeWriter writes rows until the first error.
type changeWriter struct {
	conn              *sqlite.Conn
	repo, version, at int64
	change            store.Change
	err               error
}

func (w *changeWriter) exec(query string, args ...any) {
	if w.err == nil {
		w.err = exec(w.conn, query, args...)
	}
}

func (w *changeWriter) put(p store.Put) {
	key, sum := p.Key.String(), p.Sum[:]
	w.exec("INSERT INTO bodies (repo, sum, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", w.repo, sum, p.Content)
	w.exec(`INSERT INTO entries (repo, key, sum, bytes, version, modified_ms, allowed) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes, version = excluded.version, modified_ms = excluded.modified_ms,
			allowed = excluded.allowed`,
		w.repo, key, sum, len(p.Content), w.version, w.at, p.Allowed)
	w.history(key, store.OpPut, sum, len(p.Content), p.Allowed)
}

func (w *changeWriter) retire(k api.Key) {
	key := k.String()
	w.exec("DELETE FROM entries WHERE repo = ? AND key = ?", w.repo, key)
	w.exec("INSERT INTO tombs (repo, key, version) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version", w.repo, key, w.version)
	w.history(key, store.OpRetire, nil, 0, "")
}

// history adds a version; a nil sum is stored as NULL.
func (w *changeWriter) history(key string, op store.Op, sum any, bytes int, allowed string) {
	a := w.change.Actor
	w.exec(`INSERT INTO versions (repo, key, version, op, sum, bytes, at_ms, token, person, device, agent, session, rules, allowed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.repo, key, w.version, string(op), sum, bytes, w.at, a.Token, a.Person, a.Device, a.Agent, a.Session, w.change.Rules, allowed)
}
