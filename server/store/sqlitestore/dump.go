package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
)

// Row is one row of a table by the names of its columns: int64, float64, string,
// []byte or nil.
type Row = map[string]any

// dumped says how tables are read that keep their rows in another form than they
// mean: actors are named by their pseudonym, and a repo has the hash at the end of
// its chain.
var dumped = map[string]string{
	"repos": "SELECT r.*, t.hash AS chain_hash FROM repos r LEFT JOIN audit t ON (t.repo, t.number) = (r.id, r.chain)",
	"versions": `SELECT v.repo, v.version, v.ordinal, v.key, v.op, v.sum, v.bytes, v.at_ms, a.id AS actor, v.rules, v.allowed, v.redacted, v.pruned, v.salt, v.seal
		FROM versions v LEFT JOIN actors a ON (a.repo, a.number) = (v.repo, v.actor)`,
	"audit": `SELECT t.repo, t.number, t.action, a.id AS actor, t.at_ms, t.version, t.salt, t.detail, t.digest, t.hash
		FROM audit t LEFT JOIN actors a ON (a.repo, a.number) = (t.repo, t.actor)`,
	"devices": `SELECT d.repo, d.id, a.id AS actor, d.nameless, d.first_ms, d.seen_ms, d.epoch, d.pulled, d.cleaned, d.cleaned_ms
		FROM devices d LEFT JOIN actors a ON (a.repo, a.number) = (d.repo, d.actor)`,
	"scan_policy": `SELECT p.repo, p.number, p.id, p.rule, p.keys, p.reason, a.id AS actor, p.at_ms, p.expires_ms, p.ended_ms, b.id AS ended_by
		FROM scan_policy p LEFT JOIN actors a ON (a.repo, a.number) = (p.repo, p.actor) LEFT JOIN actors b ON (b.repo, b.number) = (p.repo, p.ended_by)`,
}

// Dump lends use a way to read whole tables, all of one moment, for moving them
// elsewhere. What is encrypted is opened. A version has a seal only where it cannot be computed, an audit row a
// digest only where it had a detail. The rows of a table end with an error, if any, and must be
// read to their end, or to where the reader stops, before the next table's.
func (s *Store) Dump(ctx context.Context, use func(table func(name string) iter.Seq2[Row, error]) error) error {
	err := s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := transact(conn, beginRead, func() error {
			return use(func(name string) iter.Seq2[Row, error] { return s.rowsOf(conn, name) })
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	return nil
}

// errStopped ends a walk whose reader wants no more.
var errStopped = errors.New("the reader stopped")

func (s *Store) rowsOf(conn *sqlite.Conn, name string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		stopped := false
		query := dumped[name]
		if query == "" {
			query = `SELECT * FROM "` + name + `"`
		}
		err := sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			row := rowOf(stmt)
			if name == "bodies" {
				if err := s.openRow(conn, row); err != nil {
					return err
				}
			}
			if stopped = !yield(row, nil); stopped {
				return errStopped
			}
			return nil
		}})
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("table %s: %w", name, err))
		}
	}
}

// openRow makes a row of bodies one that is plain.
func (s *Store) openRow(conn *sqlite.Conn, row Row) error {
	sealed, ok := row["sealed"].([]byte)
	delete(row, "sealed")
	number, _ := row["data_key"].(int64)
	delete(row, "data_key")
	if !ok {
		return nil
	}
	repo, _ := row["repo"].(int64)
	var sum api.Checksum
	if stored, _ := row["sum"].([]byte); copy(sum[:], stored) != len(sum) {
		return errKeyGone
	}
	key, err := s.seals.dataKey(conn, repo, number)
	if err == nil {
		row["content"], err = key.Open(sum, sealed)
	}
	if err != nil {
		return fmt.Errorf("content %s: %w", sum, err)
	}
	return nil
}

func rowOf(stmt *sqlite.Stmt) Row {
	row := make(Row, stmt.ColumnCount())
	for i := range stmt.ColumnCount() {
		switch name := stmt.ColumnName(i); stmt.ColumnType(i) {
		case sqlite.TypeInteger:
			row[name] = stmt.ColumnInt64(i)
		case sqlite.TypeFloat:
			row[name] = stmt.ColumnFloat(i)
		case sqlite.TypeText:
			row[name] = stmt.ColumnText(i)
		case sqlite.TypeBlob:
			blob := make([]byte, stmt.ColumnLen(i))
			stmt.ColumnBytes(i, blob)
			row[name] = blob
		default:
			row[name] = nil
		}
	}
	return row
}
