package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// NewEpoch gives the store a new epoch.
func (s *Store) NewEpoch(ctx context.Context) error {
	if s.lock == nil {
		return fmt.Errorf("making a new epoch: %w", errNotServing)
	}
	err := s.alone(ctx, func() error {
		defer s.heads.forgetAll()
		_, err := s.commit(func() error {
			return exec(s.writer, "UPDATE meta SET value = ? WHERE name = 'epoch'", newEpoch())
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("making a new epoch: %w", err)
	}
	return nil
}

// Prune takes away the contents of old versions.
func (s *Store) Prune(ctx context.Context, repo api.Repo, r store.Retention, by api.Actor, at time.Time) (store.Pruned, error) {
	if s.lock == nil {
		return store.Pruned{}, fmt.Errorf("pruning %q: %w", repo, errNotServing)
	}
	var done store.Pruned
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		id, found, err := findWritten(conn, repo)
		if err != nil {
			return err
		}
		if !found {
			return store.ErrNoRepo
		}
		if done, err = prune(conn, id, r); err != nil || done == (store.Pruned{}) {
			return err
		}
		detail := fmt.Sprintf(`{"versions":%d,"bodies":%d,"bytes":%d}`, done.Versions, done.Bodies, done.Bytes)
		return s.record(id, store.Event{Action: store.ActionPrune, Actor: by, At: at, Detail: detail})
	})
	if err != nil {
		return store.Pruned{}, fmt.Errorf("pruning %q: %w", repo, err)
	}
	return done, nil
}

func findWritten(conn *sqlite.Conn, repo api.Repo) (id int64, found bool, err error) {
	err = sqlitex.Execute(conn, "SELECT id FROM repos WHERE name = ? AND version > 0", &sqlitex.ExecOptions{
		Args:       []any{repo.String()},
		ResultFunc: func(stmt *sqlite.Stmt) error { id, found = stmt.ColumnInt64(0), true; return nil },
	})
	return id, found, err
}

// prunable lists the versions whose content goes: all that have the content may
// go. The newest version of a key has no successor and so never does.
const prunable = `
	SELECT version, ordinal, sum FROM (
		SELECT version, ordinal, sum, min(old) OVER (PARTITION BY sum) AS all_old FROM (
			SELECT version, ordinal, sum, op, pruned, iif(replaced IS NOT NULL
				AND (:before = 0 OR replaced < :before) AND (:keep = 0 OR rank > :keep), 1, 0) AS old
			FROM (
				SELECT version, ordinal, sum, op, pruned,
					lead(at_ms) OVER (PARTITION BY key ORDER BY version) AS replaced,
					row_number() OVER (PARTITION BY key, op ORDER BY version DESC) AS rank
				FROM versions WHERE repo = :repo AND key IS NOT NULL
			)
		) WHERE op = 'put' AND pruned = 0
	) WHERE all_old = 1`

func prune(conn *sqlite.Conn, repo int64, r store.Retention) (done store.Pruned, err error) {
	if r.Before.IsZero() && r.Keep <= 0 {
		return done, nil
	}
	var gone []place
	sums := make(map[api.Checksum]bool)
	err = sqlitex.Execute(conn, prunable, &sqlitex.ExecOptions{
		Named: map[string]any{":repo": repo, ":before": toMillis(r.Before), ":keep": max(r.Keep, 0)},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			sum, err := columnSum(stmt, 2)
			gone, sums[sum] = append(gone, place{stmt.ColumnInt64(0), stmt.ColumnInt64(1)}), true
			return err
		},
	})
	if err != nil {
		return done, err
	}
	for _, v := range gone {
		if err := exec(conn, "UPDATE versions SET pruned = 1 WHERE repo = ? AND version = ? AND ordinal = ?", repo, v.version, v.ordinal); err != nil {
			return done, err
		}
	}
	done.Versions = len(gone)
	for sum := range sums {
		err := sqlitex.Execute(conn, "DELETE FROM bodies WHERE repo = ? AND sum = ? RETURNING octet_length(content) + coalesce(length(sealed) - ?, 0)", &sqlitex.ExecOptions{
			Args: []any{repo, sum[:], seal.Overhead},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				done.Bodies++
				done.Bytes += stmt.ColumnInt64(0)
				return nil
			},
		})
		if err != nil {
			return done, err
		}
	}
	return done, nil
}
