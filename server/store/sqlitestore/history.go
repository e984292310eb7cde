package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Bodies returns the contents with these sums.
func (s *Store) Bodies(ctx context.Context, repo api.Repo, sums []api.Checksum) (map[api.Checksum]string, error) {
	id, err := s.repoID(ctx, repo)
	if err != nil {
		return nil, fmt.Errorf("reading contents of %q: %w", repo, err)
	}
	bodies := make(map[api.Checksum]string, len(sums))
	err = s.readConn(ctx, func(conn *sqlite.Conn) error {
		// One transaction: taking and leaving a snapshot for each content would
		// cost more than reading it.
		_, err := transact(conn, beginRead, func() error { return loadBodies(conn, id, sums, bodies) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading contents of %q: %w", repo, err)
	}
	return bodies, nil
}

func loadBodies(conn *sqlite.Conn, repo int64, sums []api.Checksum, bodies map[api.Checksum]string) error {
	for _, sum := range sums {
		if _, have := bodies[sum]; have {
			continue
		}
		if err := sqlitex.Execute(conn, "SELECT content FROM bodies WHERE repo = ? AND sum = ?", &sqlitex.ExecOptions{
			Args:       []any{repo, sum[:]},
			ResultFunc: func(stmt *sqlite.Stmt) error { bodies[sum] = stmt.ColumnText(0); return nil },
		}); err != nil {
			return err
		}
	}
	return nil
}

// ownVersionColumns are what scanVersion reads, and ownVersionWidth their number.
const (
	ownVersionColumns = "v.key, v.version, v.op, v.sum, v.bytes, v.at_ms, v.actor, v.rules, v.allowed, v.salt, v.redacted, v.pruned"
	ownVersionWidth   = 12
)

// History returns versions, newest first.
func (s *Store) History(ctx context.Context, repo api.Repo, key api.Key, limit int) ([]store.Version, error) {
	id, err := s.repoID(ctx, repo)
	if err != nil {
		return nil, fmt.Errorf("reading history of %q: %w", repo, err)
	}
	if limit <= 0 {
		limit = -1 // SQLite's word for all
	}
	query := "SELECT " + ownVersionColumns + ", " + actorColumns + " FROM versions v LEFT JOIN actors a ON (a.repo, a.id) = (v.repo, v.actor) "
	args := []any{id, limit}
	if key.IsZero() {
		query += "WHERE v.repo = ? ORDER BY v.version DESC, v.ordinal LIMIT ?"
	} else {
		query += "WHERE v.repo = ? AND v.key = ? ORDER BY v.version DESC LIMIT ?"
		args = []any{id, key.String(), limit}
	}
	var versions []store.Version
	err = s.read(ctx, query, args, func(stmt *sqlite.Stmt) error {
		v, err := scanVersion(stmt)
		v.Actor = scanActor(stmt, ownVersionWidth)
		versions = append(versions, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading history of %q: %w", repo, err)
	}
	return versions, nil
}

// scanVersion reads a version's own columns.
func scanVersion(stmt *sqlite.Stmt) (v store.Version, err error) {
	if v.Redacted = stmt.ColumnInt(10) != 0; !v.Redacted {
		if v.Key, err = columnKey(stmt, 0); err != nil {
			return v, err
		}
	}
	v.Version, v.Op, v.Bytes, v.At = uint64(stmt.ColumnInt64(1)), store.Op(stmt.ColumnText(2)), stmt.ColumnInt(4), columnTime(stmt, 5)
	v.Rules, v.Allowed, v.Pruned = stmt.ColumnText(7), stmt.ColumnText(8), stmt.ColumnInt(11) != 0
	var actor actorID
	err = errors.Join(columnBlob(stmt, 3, v.Sum[:]), columnBlob(stmt, 6, actor[:]), columnBlob(stmt, 9, v.Salt[:]))
	v.ActorID = actor.String()
	return v, err
}
