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
		_, err := transact(conn, beginRead, func() error { return s.loadBodies(conn, id, sums, bodies) })
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading contents of %q: %w", repo, err)
	}
	return bodies, nil
}

func (s *Store) loadBodies(conn *sqlite.Conn, repo int64, sums []api.Checksum, bodies map[api.Checksum]string) error {
	for _, sum := range sums {
		if _, have := bodies[sum]; have {
			continue
		}
		if err := sqlitex.Execute(conn, "SELECT "+contentColumns+" FROM bodies WHERE repo = ? AND sum = ?", &sqlitex.ExecOptions{
			Args: []any{repo, sum[:]},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				content, err := s.seals.readContent(conn, stmt, 0, repo, sum)
				if err != nil {
					return fmt.Errorf("content %s: %w", sum, err)
				}
				bodies[sum] = content
				return nil
			},
		}); err != nil {
			return err
		}
	}
	return nil
}

// ownVersionColumns are what scanVersion reads, and ownVersionWidth their number.
const (
	ownVersionColumns = "v.key, v.version, v.op, v.sum, v.bytes, v.at_ms, v.actor, v.rules, v.allowed, v.salt, v.redacted, v.pruned, v.seal"
	ownVersionWidth   = 13
)

// historyColumns are what scanHistory reads.
const historyColumns = ownVersionColumns + ", a.id, " + actorColumns

// History returns versions, newest first.
func (s *Store) History(ctx context.Context, repo api.Repo, key api.Key, limit int) ([]store.Version, error) {
	versions, err := s.history(ctx, repo, key, limit)
	if err != nil {
		return nil, fmt.Errorf("reading history of %q: %w", repo, err)
	}
	return versions, nil
}

func (s *Store) history(ctx context.Context, repo api.Repo, key api.Key, limit int) (versions []store.Version, err error) {
	take := func(stmt *sqlite.Stmt) (more bool, err error) {
		v, err := scanHistory(stmt)
		versions = append(versions, v)
		return len(versions) != limit, err
	}
	err = s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := transact(conn, beginRead, func() error {
			id, found, err := findWritten(conn, repo)
			if err != nil {
				return err
			}
			if !found {
				return store.ErrNoRepo
			}
			if key.IsZero() {
				return wholeHistory(conn, id, limit, take)
			}
			newest, err := newestChange(conn, id, key)
			if err != nil {
				return err
			}
			return followKey(conn, historyColumns, id, key, newest, take)
		})
		return err
	})
	return versions, err
}

func wholeHistory(conn *sqlite.Conn, repo int64, limit int, take func(*sqlite.Stmt) (bool, error)) error {
	if limit <= 0 {
		limit = -1 // SQLite's word for all
	}
	return sqlitex.Execute(conn, "SELECT "+historyColumns+" FROM versions v "+joinActors+" WHERE v.repo = ? ORDER BY v.version DESC, v.ordinal LIMIT ?", &sqlitex.ExecOptions{
		Args:       []any{repo, limit},
		ResultFunc: func(stmt *sqlite.Stmt) error { _, err := take(stmt); return err },
	})
}

const joinActors = "LEFT JOIN actors a ON (a.repo, a.number) = (v.repo, v.actor)"

// newestChange returns the version that last changed a key, 0 for none.
func newestChange(conn *sqlite.Conn, repo int64, key api.Key) (version uint64, err error) {
	err = sqlitex.Execute(conn, "SELECT version FROM entries WHERE repo = ?1 AND key = ?2 UNION ALL SELECT version FROM tombs WHERE repo = ?1 AND key = ?2", &sqlitex.ExecOptions{
		Args:       []any{repo, key.String()},
		ResultFunc: func(stmt *sqlite.Stmt) error { version = max(version, uint64(stmt.ColumnInt64(0))); return nil },
	})
	return version, err
}

// followKey visits the versions of a key, newest first, until visit has enough.
func followKey(conn *sqlite.Conn, columns string, repo int64, key api.Key, version uint64, visit func(*sqlite.Stmt) (more bool, err error)) error {
	query := "SELECT " + columns + ", v.before FROM versions v " + joinActors + " WHERE v.repo = ? AND v.version = ? AND v.key = ?"
	for version > 0 {
		before := uint64(0)
		if err := sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args: []any{repo, int64(version), key.String()},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				more, err := visit(stmt)
				if next := uint64(stmt.ColumnInt64(stmt.ColumnCount() - 1)); more && next < version { // a damaged thread must end
					before = next
				}
				return err
			},
		}); err != nil {
			return err
		}
		version = before
	}
	return nil
}

// scanHistory reads a version with its actor.
func scanHistory(stmt *sqlite.Stmt) (store.Version, error) {
	v, err := scanVersion(stmt)
	if err != nil {
		return v, err
	}
	var actor actorID
	err = columnBlob(stmt, ownVersionWidth, actor[:])
	v.ActorID, v.Actor = actor.String(), scanActor(stmt, ownVersionWidth+1)
	return v, err
}

// scanVersion reads a version's own columns; who is behind the actor's number is
// for others to fill in.
func scanVersion(stmt *sqlite.Stmt) (v store.Version, err error) {
	if v.Redacted = stmt.ColumnInt(10) != 0; !v.Redacted {
		if v.Key, err = columnKey(stmt, 0); err != nil {
			return v, err
		}
	}
	v.Version, v.Op, v.Bytes, v.At = uint64(stmt.ColumnInt64(1)), store.Op(stmt.ColumnText(2)), stmt.ColumnInt(4), columnTime(stmt, 5)
	v.Rules, v.Allowed, v.Pruned = stmt.ColumnText(7), stmt.ColumnText(8), stmt.ColumnInt(11) != 0
	return v, errors.Join(columnBlob(stmt, 3, v.Sum[:]), columnBlob(stmt, 9, v.Salt[:]))
}

// scanSeal returns the seal of a version that was read: a redacted one has it
// from before.
func scanSeal(stmt *sqlite.Stmt, v *store.Version) (seal [32]byte, err error) {
	if !v.Redacted {
		return v.Seal(), nil
	}
	return seal, columnBlob(stmt, 12, seal[:])
}
