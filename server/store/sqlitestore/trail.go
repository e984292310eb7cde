package sqlitestore

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Trail returns the rows of a chain.
func (s *Store) Trail(ctx context.Context, repo api.Repo, after uint64, limit int) (rows []store.AuditRow, err error) {
	if limit <= 0 {
		limit = -1
	}
	err = s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := transact(conn, beginRead, func() error {
			id, found, err := findRepo(conn, repo)
			if err != nil || !found {
				return err
			}
			if rows, err = loadRows(conn, id, after, limit); err != nil {
				return err
			}
			return loadSeals(conn, id, rows)
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chain of %q: %w", repo, err)
	}
	return rows, nil
}

const auditColumns = "t.number, t.action, a.id, t.at_ms, t.version, t.salt, t.detail, t.digest, t.hash"

func loadRows(conn *sqlite.Conn, repo int64, after uint64, limit int) (rows []store.AuditRow, err error) {
	err = sqlitex.Execute(conn, "SELECT "+auditColumns+", "+actorColumns+` FROM audit t LEFT JOIN actors a ON (a.repo, a.number) = (t.repo, t.actor)
		WHERE t.repo = ? AND t.number > ? ORDER BY t.number LIMIT ?`, &sqlitex.ExecOptions{
		Args: []any{repo, int64(after), limit},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row, err := scanAudit(stmt)
			row.Actor = scanActor(stmt, 9)
			rows = append(rows, row)
			return err
		},
	})
	return rows, err
}

// scanAudit reads a row's own columns; Seals is for others to fill in.
func scanAudit(stmt *sqlite.Stmt) (store.AuditRow, error) {
	row := store.AuditRow{
		Number: uint64(stmt.ColumnInt64(0)), Action: stmt.ColumnText(1), At: columnTime(stmt, 3),
		Version: uint64(stmt.ColumnInt64(4)), Detail: stmt.ColumnText(6), Digest: noDetail,
	}
	var actor actorID
	for column, into := range map[int][]byte{2: actor[:], 5: row.Salt[:], 7: row.Digest[:], 8: row.Hash[:]} {
		if err := columnBlob(stmt, column, into); err != nil {
			return row, err
		}
	}
	row.ActorID = actor.String()
	return row, nil
}

// loadSeals fills in what rows seal, which come in the order of their versions, and
// the keys.
func loadSeals(conn *sqlite.Conn, repo int64, rows []store.AuditRow) error {
	seals, keys := make(map[uint64][][32]byte), make(map[uint64][]api.Key)
	var first, last uint64
	for _, row := range rows {
		if row.Version > 0 {
			last = row.Version
			if first == 0 {
				first = last
			}
		}
	}
	err := sqlitex.Execute(conn, "SELECT "+ownVersionColumns+" FROM versions v WHERE v.repo = ? AND v.version BETWEEN ? AND ? ORDER BY v.version, v.ordinal", &sqlitex.ExecOptions{
		Args: []any{repo, int64(first), int64(last)},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := scanVersion(stmt)
			if err != nil {
				return err
			}
			seal, err := scanSeal(stmt, &v)
			seals[v.Version] = append(seals[v.Version], seal)
			if !v.Redacted {
				keys[v.Version] = append(keys[v.Version], v.Key)
			}
			return err
		},
	})
	for i := range rows {
		rows[i].Seals, rows[i].Keys = store.SealAll(seals[rows[i].Version]), keys[rows[i].Version]
	}
	return err
}
