package sqlitestore

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// serverRepo is the number under which the server's own chain is kept.
const serverRepo int64 = 0

// chain is the end of a chain of audit rows: the last row's number and hash.
type chain struct {
	number uint64
	hash   [32]byte
}

func newSalt() (salt [16]byte) {
	_, _ = rand.Read(salt[:]) // never fails
	return salt
}

// nextRow makes the row that follows the end of a chain.
func nextRow(end chain, actor actorID, e store.Event, version uint64, seals [][32]byte) *store.AuditRow {
	row := &store.AuditRow{
		Number: end.number + 1, Action: e.Action, ActorID: actor.String(), Actor: e.Actor,
		At: e.At.Truncate(time.Millisecond).UTC(), Version: version, Detail: e.Detail, Seals: store.SealAll(seals),
	}
	if e.Detail != "" {
		row.Salt = newSalt()
	}
	row.Digest = store.DigestDetail(row.Salt, row.Detail)
	row.Hash = row.Chain(end.hash)
	return row
}

// insertAudit writes a row. Moving the end of the chain is its caller's.
func insertAudit(conn *sqlite.Conn, repo int64, actor actorID, row *store.AuditRow) error {
	var salt, seals any
	if row.Detail != "" {
		salt = row.Salt[:]
	}
	if row.Seals != [32]byte{} {
		seals = row.Seals[:]
	}
	return exec(conn, `INSERT INTO audit (repo, number, action, actor, at_ms, version, salt, detail, digest, seals, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		repo, int64(row.Number), row.Action, actor[:], row.At.UnixMilli(), int64(row.Version), salt, row.Detail, row.Digest[:], seals, row.Hash[:])
}

// loadChain returns the end of a repo's chain.
func loadChain(conn *sqlite.Conn, repo int64) (end chain, err error) {
	err = sqlitex.Execute(conn, "SELECT chain, chain_hash FROM repos WHERE id = ?", &sqlitex.ExecOptions{
		Args:       []any{repo},
		ResultFunc: func(stmt *sqlite.Stmt) (err error) { end, err = scanChain(stmt, 0); return err },
	})
	return end, err
}

func scanChain(stmt *sqlite.Stmt, first int) (end chain, err error) {
	end.number = uint64(stmt.ColumnInt64(first))
	return end, columnBlob(stmt, first+1, end.hash[:])
}

// record adds a row that no version belongs to, inside the writer's transaction.
func (s *Store) record(repo int64, e store.Event) error {
	end, err := loadChain(s.writer, repo)
	if err != nil {
		return err
	}
	actor, err := s.actorID(repo, e.Actor)
	if err != nil {
		return err
	}
	row := nextRow(end, actor, e, 0, nil)
	if err := insertAudit(s.writer, repo, actor, row); err != nil {
		return err
	}
	return exec(s.writer, "UPDATE repos SET chain = ?, chain_hash = ? WHERE id = ?", int64(row.Number), row.Hash[:], repo)
}

// Audit adds a row to a chain. It may be called beside a server that runs.
func (s *Store) Audit(ctx context.Context, repo api.Repo, e store.Event) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		id, err := makeRepo(conn, repo)
		if err != nil {
			return err
		}
		return s.record(id, e)
	})
	if err != nil {
		return fmt.Errorf("auditing %q of %q: %w", e.Action, repo, err)
	}
	return nil
}

// Trail returns the rows of a chain.
func (s *Store) Trail(ctx context.Context, repo api.Repo, after uint64, limit int) ([]store.AuditRow, error) {
	if limit <= 0 {
		limit = -1
	}
	var rows []store.AuditRow
	err := s.read(ctx, `SELECT t.number, t.action, t.actor, t.at_ms, t.version, t.salt, t.detail, t.digest, t.seals, t.hash, `+actorColumns+`
		FROM repos r JOIN audit t ON t.repo = r.id LEFT JOIN actors a ON (a.repo, a.id) = (t.repo, t.actor)
		WHERE r.name = ? AND t.number > ? ORDER BY t.number LIMIT ?`, []any{repo.String(), int64(after), limit}, func(stmt *sqlite.Stmt) error {
		row, err := scanAudit(stmt)
		row.Actor = scanActor(stmt, 10)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chain of %q: %w", repo, err)
	}
	return rows, nil
}

// scanAudit reads a row's own columns.
func scanAudit(stmt *sqlite.Stmt) (store.AuditRow, error) {
	row := store.AuditRow{
		Number: uint64(stmt.ColumnInt64(0)), Action: stmt.ColumnText(1), At: columnTime(stmt, 3),
		Version: uint64(stmt.ColumnInt64(4)), Detail: stmt.ColumnText(6),
	}
	var actor actorID
	for column, into := range map[int][]byte{2: actor[:], 5: row.Salt[:], 7: row.Digest[:], 8: row.Seals[:], 9: row.Hash[:]} {
		if err := columnBlob(stmt, column, into); err != nil {
			return row, err
		}
	}
	row.ActorID = actor.String()
	return row, nil
}
