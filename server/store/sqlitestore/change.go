package sqlitestore

import (
	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// changeRows writes the rows of one change, in a transaction of the caller. It
// stops at the first error: after some, SQLite has rolled back, and another
// statement would be committed on its own.
type changeRows struct {
	conn    *sqlite.Conn
	repo    int64
	version int64
	change  store.Change
	at      int64
	err     error
}

// writeChange writes what leads to next and returns the repo's number; id is 0
// for a repo that was never written.
func writeChange(conn *sqlite.Conn, id int64, next *store.Head, c store.Change) (int64, error) {
	w := &changeRows{conn: conn, repo: id, version: int64(next.Version), change: c, at: c.At.UnixMilli()}
	w.head(next.Repo)
	for _, p := range c.Puts {
		w.put(p)
	}
	for _, key := range c.Retire {
		w.retire(key)
	}
	return w.repo, w.err
}

func (w *changeRows) exec(sql string, args ...any) {
	if w.err == nil {
		w.err = exec(w.conn, sql, args...)
	}
}

func (w *changeRows) head(repo api.Repo) {
	if w.repo == 0 {
		w.exec("INSERT INTO repos (name, version, modified_ms) VALUES (?, ?, ?)", repo.String(), w.version, w.at)
		w.repo = w.conn.LastInsertRowID()
		return
	}
	w.exec("UPDATE repos SET version = ?, modified_ms = ? WHERE id = ?", w.version, w.at, w.repo)
}

func (w *changeRows) put(p store.Put) {
	w.exec("INSERT INTO bodies (repo, sum, content) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", w.repo, p.Sum[:], p.Content)
	w.exec(`INSERT INTO entries (repo, key, sum, bytes, version, modified_ms) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET sum = excluded.sum, bytes = excluded.bytes, version = excluded.version, modified_ms = excluded.modified_ms`,
		w.repo, p.Key.String(), p.Sum[:], len(p.Content), w.version, w.at)
	w.exec("DELETE FROM tombs WHERE repo = ? AND key = ?", w.repo, p.Key.String())
	w.history(p.Key, store.OpPut, p.Sum[:], len(p.Content))
}

func (w *changeRows) retire(key api.Key) {
	w.exec("DELETE FROM entries WHERE repo = ? AND key = ?", w.repo, key.String())
	w.exec("INSERT INTO tombs (repo, key, version) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version",
		w.repo, key.String(), w.version)
	w.history(key, store.OpRetire, nil, 0)
}

// history adds a version; sum is nil for a retirement.
func (w *changeRows) history(key api.Key, op store.Op, sum any, bytes int) {
	who := w.change.Actor
	w.exec(`INSERT INTO versions (repo, key, version, op, sum, bytes, at_ms, token, person, device, agent, session, rules)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		w.repo, key.String(), w.version, string(op), sum, bytes, w.at,
		who.Token, who.Person, who.Device, who.Agent, who.Session, w.change.Rules)
}
