package sqlitestore

import (
	"context"
	"crypto/rand"
	"errors"
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
func nextRow(end chain, actor actorRef, e store.Event, version uint64, seals [][32]byte) *store.AuditRow {
	row := &store.AuditRow{
		Number: end.number + 1, Action: e.Action, ActorID: actor.id.String(), Actor: e.Actor,
		At: e.At.Truncate(time.Millisecond).UTC(), Version: version, Detail: e.Detail, Seals: store.SealAll(seals), Digest: noDetail,
	}
	if e.Detail != "" {
		row.Salt = newSalt()
		row.Digest = store.DigestDetail(row.Salt, row.Detail)
	}
	row.Hash = row.Chain(end.hash)
	return row
}

// noDetail is the digest of a row that never had a detail.
var noDetail = store.DigestDetail([16]byte{}, "")

// insertAudit writes a row. Moving the end of the chain is its caller's.
func insertAudit(conn *sqlite.Conn, repo int64, actor actorRef, row *store.AuditRow) error {
	var salt, digest any
	if row.Detail != "" {
		salt, digest = row.Salt[:], row.Digest[:]
	}
	return exec(conn, `INSERT INTO audit (repo, number, action, actor, at_ms, version, salt, detail, digest, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		repo, int64(row.Number), row.Action, actor.number, row.At.UnixMilli(), int64(row.Version), salt, row.Detail, digest, row.Hash[:])
}

// loadChain returns the end of a repo's chain.
func loadChain(conn *sqlite.Conn, repo int64) (end chain, err error) {
	err = sqlitex.Execute(conn, "SELECT r.chain, t.hash FROM repos r LEFT JOIN audit t ON (t.repo, t.number) = (r.id, r.chain) WHERE r.id = ?", &sqlitex.ExecOptions{
		Args: []any{repo},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			end.number = uint64(stmt.ColumnInt64(0))
			if end.number > 0 && stmt.ColumnIsNull(1) {
				return errLostRow
			}
			return columnBlob(stmt, 1, end.hash[:])
		},
	})
	return end, err
}

var errLostRow = errors.New("the last audit row of the repo is gone: the database is damaged")

// record adds a row that no version belongs to, inside the writer's transaction.
func (s *Store) record(repo int64, e store.Event) error {
	end, err := loadChain(s.writer, repo)
	if err != nil {
		return err
	}
	actor, err := s.actor(repo, e.Actor)
	if err != nil {
		return err
	}
	row := nextRow(end, actor, e, 0, nil)
	if err := insertAudit(s.writer, repo, actor, row); err != nil {
		return err
	}
	return exec(s.writer, "UPDATE repos SET chain = ? WHERE id = ?", int64(row.Number), repo)
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
