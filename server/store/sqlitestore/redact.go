package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// redact takes contents out of the repo and writes them into its ledger. All are
// looked for in one walk of the history, where pruned versions name them as well.
func (w *changeWriter) redact(before *store.Head, sums []api.Checksum) {
	for _, sum := range sums {
		if before.IsRedacted(sum) {
			continue
		}
		w.exec("INSERT INTO redactions (repo, sum, at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", w.repo, sum[:], w.at)
		w.exec("DELETE FROM bodies WHERE repo = ? AND sum = ?", w.repo, sum[:])
	}
	keys := make(map[string]bool)
	for _, v := range w.redacted() {
		keys[v.key] = true
		w.exec(`UPDATE versions SET key = NULL, before = 0, sum = NULL, bytes = 0, allowed = '', salt = NULL, seal = ?, redacted = 1
			WHERE repo = ? AND version = ? AND ordinal = ?`, v.seal[:], w.repo, v.version, v.ordinal)
	}
	for _, v := range w.loose(keys) {
		w.exec("UPDATE versions SET before = ? WHERE repo = ? AND version = ? AND ordinal = ?", v.before, w.repo, v.version, v.ordinal)
	}
}

// loosePlace is a version whose thread leads to a redacted one, with where it must
// lead.
type loosePlace struct {
	place

	before int64
}

// loose follows the threads of some keys, in one walk of the history.
func (w *changeWriter) loose(keys map[string]bool) (found []loosePlace) {
	if w.err != nil || len(keys) == 0 {
		return nil
	}
	last := make(map[string]int64)
	w.err = sqlitex.Execute(w.conn, "SELECT key, version, ordinal, before FROM versions WHERE repo = ? AND key IS NOT NULL ORDER BY version", &sqlitex.ExecOptions{
		Args: []any{w.repo},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			key := stmt.ColumnText(0)
			if !keys[key] {
				return nil
			}
			version := stmt.ColumnInt64(1)
			if before := last[key]; before != stmt.ColumnInt64(3) {
				found = append(found, loosePlace{place{version, stmt.ColumnInt64(2)}, before})
			}
			last[key] = version
			return nil
		},
	})
	return found
}

// place is where a version is in its repo.
type place struct{ version, ordinal int64 }

// sealedPlace has the seal that stands for the version from now on, and the key
// that it loses.
type sealedPlace struct {
	place

	seal [32]byte
	key  string
}

// redacted returns the versions whose content is in the ledger.
func (w *changeWriter) redacted() (found []sealedPlace) {
	if w.err != nil {
		return nil
	}
	w.err = sqlitex.Execute(w.conn, "SELECT "+ownVersionColumns+`, v.ordinal FROM versions v
		WHERE v.repo = ? AND v.sum IN (SELECT sum FROM redactions r WHERE r.repo = v.repo)`, &sqlitex.ExecOptions{
		Args: []any{w.repo},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := scanVersion(stmt)
			found = append(found, sealedPlace{place{int64(v.Version), stmt.ColumnInt64(ownVersionWidth)}, v.Seal(), v.Key.String()})
			return err
		},
	})
	return found
}
