package sqlitestore

import (
	"context"
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

const versionColumns = "key, version, op, sum, bytes, at_ms, token, person, device, agent, session, rules, redacted, allowed"

// History returns versions, newest first.
func (s *Store) History(ctx context.Context, repo api.Repo, key api.Key, limit int) ([]store.Version, error) {
	id, err := s.repoID(ctx, repo)
	if err != nil {
		return nil, fmt.Errorf("reading history of %q: %w", repo, err)
	}
	if limit <= 0 {
		limit = -1 // SQLite's word for all
	}
	query, args := "SELECT "+versionColumns+" FROM versions WHERE repo = ? ORDER BY version DESC, key LIMIT ?", []any{id, limit}
	if !key.IsZero() {
		query, args = "SELECT "+versionColumns+" FROM versions WHERE repo = ? AND key = ? ORDER BY version DESC LIMIT ?", []any{id, key.String(), limit}
	}
	var versions []store.Version
	err = s.read(ctx, query, args, func(stmt *sqlite.Stmt) error {
		v, err := scanVersion(stmt)
		versions = append(versions, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading history of %q: %w", repo, err)
	}
	return versions, nil
}

func scanVersion(stmt *sqlite.Stmt) (store.Version, error) {
	key, err := columnKey(stmt, 0)
	if err != nil {
		return store.Version{}, err
	}
	sum, err := columnSum(stmt, 3)
	if err != nil {
		return store.Version{}, err
	}
	return store.Version{
		Key: key, Version: uint64(stmt.ColumnInt64(1)), Op: store.Op(stmt.ColumnText(2)), Sum: sum,
		Bytes: stmt.ColumnInt(4), At: columnTime(stmt, 5),
		Actor: api.Actor{
			Token: stmt.ColumnText(6), Person: stmt.ColumnText(7), Device: stmt.ColumnText(8),
			Agent: stmt.ColumnText(9), Session: stmt.ColumnText(10),
		},
		Rules: stmt.ColumnText(11), Redacted: stmt.ColumnInt(12) != 0, Allowed: stmt.ColumnText(13),
	}, nil
}
