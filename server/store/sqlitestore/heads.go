package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// maxCachedItems bounds the rows of all cached heads together; a row is about
// 150 bytes.
const maxCachedItems = 2_000_000

// repoRow is a head with the number of its repo, 0 for one that was never
// written.
type repoRow struct {
	id   int64
	head *store.Head
}

func (r *repoRow) size() int { return 1 + len(r.head.Items) + len(r.head.Tombs) + len(r.head.Redacted) }

// keep puts a head into the cache unless a newer one is there. mu is held.
func (s *Store) keep(repo api.Repo, row *repoRow) {
	if old := s.heads[repo]; old != nil && old.head.Version > row.head.Version {
		return
	}
	s.drop(repo)
	s.heads[repo] = row
	s.items += row.size()
	for other := range s.heads {
		if s.items <= maxCachedItems {
			return
		}
		if other != repo {
			s.drop(other) // in the map's random order: nothing to maintain on reads
		}
	}
}

// drop takes a head out of the cache. mu is held.
func (s *Store) drop(repo api.Repo) {
	if old := s.heads[repo]; old != nil {
		s.items -= old.size()
		delete(s.heads, repo)
	}
}

func (s *Store) cached(repo api.Repo) *repoRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[repo]
}

// Head returns the current snapshot, from memory but for the first time.
func (s *Store) Head(ctx context.Context, repo api.Repo) (*store.Head, error) {
	row, err := s.row(ctx, repo)
	if err != nil {
		return nil, err
	}
	return row.head, nil
}

// row returns the head of a repo that was written.
func (s *Store) row(ctx context.Context, repo api.Repo) (*repoRow, error) {
	if row := s.cached(repo); row != nil {
		return row, nil
	}
	conn, err := s.reader.Take(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", repo, err)
	}
	defer s.reader.Put(conn)
	row, err := s.loadSnapshot(conn, repo)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", repo, err)
	}
	if row.id == 0 {
		return nil, fmt.Errorf("%w: %q", store.ErrNoRepo, repo)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(repo, row)
	return s.heads[repo], nil
}

// current returns the head as the writer sees it, inside its transaction.
func (s *Store) current(repo api.Repo) (*repoRow, error) {
	if row := s.cached(repo); row != nil {
		return row, nil
	}
	return s.load(s.writer, repo)
}

// loadSnapshot reads a head in a transaction of its own, so that its rows
// belong together.
func (s *Store) loadSnapshot(conn *sqlite.Conn, repo api.Repo) (row *repoRow, err error) {
	defer sqlitex.Transaction(conn)(&err)
	return s.load(conn, repo)
}

func (s *Store) load(conn *sqlite.Conn, repo api.Repo) (*repoRow, error) {
	head := &store.Head{Repo: repo, Epoch: s.epoch}
	row := &repoRow{head: head}
	err := sqlitex.Execute(conn, "SELECT id, version, modified_ms FROM repos WHERE name = ?", &sqlitex.ExecOptions{
		Args: []any{repo.String()},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row.id, head.Version, head.Modified = stmt.ColumnInt64(0), uint64(stmt.ColumnInt64(1)), fromMillis(stmt.ColumnInt64(2))
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	if row.id != 0 {
		if err := errors.Join(loadItems(conn, row), loadTombs(conn, row), loadRedactions(conn, row)); err != nil {
			return nil, err
		}
	}
	head.Seal()
	return row, nil
}

// Keys are compared as bytes by SQLite as well, so the rows come sorted.

func loadItems(conn *sqlite.Conn, row *repoRow) error {
	return sqlitex.Execute(conn, "SELECT key, sum, bytes, version, modified_ms FROM entries WHERE repo = ? ORDER BY key", &sqlitex.ExecOptions{
		Args: []any{row.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			key, err := api.ParseKey(stmt.ColumnText(0))
			if err != nil {
				return fmt.Errorf("a stored key is damaged: %w", err)
			}
			row.head.Items = append(row.head.Items, store.Item{
				Key: key, Sum: columnSum(stmt, 1), Bytes: stmt.ColumnInt(2), Version: uint64(stmt.ColumnInt64(3)), Modified: fromMillis(stmt.ColumnInt64(4)),
			})
			return nil
		},
	})
}

func loadTombs(conn *sqlite.Conn, row *repoRow) error {
	return sqlitex.Execute(conn, "SELECT key, version FROM tombs WHERE repo = ? ORDER BY key", &sqlitex.ExecOptions{
		Args: []any{row.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			key, err := api.ParseKey(stmt.ColumnText(0))
			if err != nil {
				return fmt.Errorf("a stored key is damaged: %w", err)
			}
			row.head.Tombs = append(row.head.Tombs, store.Tomb{Key: key, Version: uint64(stmt.ColumnInt64(1))})
			return nil
		},
	})
}

func loadRedactions(conn *sqlite.Conn, row *repoRow) error {
	return sqlitex.Execute(conn, "SELECT sum FROM redactions WHERE repo = ? ORDER BY sum", &sqlitex.ExecOptions{
		Args: []any{row.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row.head.Redacted = append(row.head.Redacted, columnSum(stmt, 0))
			return nil
		},
	})
}

func columnSum(stmt *sqlite.Stmt, column int) (sum api.Checksum) {
	stmt.ColumnBytes(column, sum[:])
	return sum
}

// fromMillis reads a stored time; 0 is the zero time.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
