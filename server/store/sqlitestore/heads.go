package sqlitestore

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Head returns the current snapshot, from memory but for the first time.
func (s *Store) Head(ctx context.Context, repo api.Repo) (*store.Head, error) {
	l, err := s.loaded(ctx, repo)
	return l.Head, err
}

// loaded returns the head of a repo that was written.
func (s *Store) loaded(ctx context.Context, repo api.Repo) (l store.Loaded, err error) {
	if s.closed.Load() {
		return store.Loaded{}, fmt.Errorf("reading %q: %w", repo, errClosed)
	}
	if s.heads == nil {
		l, err = s.loadSnapshot(ctx, repo)
	} else {
		l, err = s.heads.Load(ctx, repo, func(ctx context.Context) (store.Loaded, error) {
			return s.loadSnapshot(ctx, repo)
		})
	}
	if err != nil {
		return store.Loaded{}, fmt.Errorf("reading %q: %w", repo, err)
	}
	return l, nil
}

func (s *Store) loadSnapshot(ctx context.Context, repo api.Repo) (l store.Loaded, err error) {
	err = s.snapshot(ctx, func(conn *sqlite.Conn) error {
		l, err = load(conn, s.epoch, repo)
		return err
	})
	if err == nil && l.ID == 0 {
		err = store.ErrNoRepo
	}
	return l, err
}

// load reads a head, whose ID is 0 when the repo was never written. The caller
// has a transaction, so that the rows belong together.
func load(conn *sqlite.Conn, epoch string, repo api.Repo) (store.Loaded, error) {
	l := store.Loaded{Head: &store.Head{Repo: repo, Epoch: epoch}}
	err := query(conn, "SELECT id, version, modified_ms FROM repos WHERE name = ?", []any{repo.String()}, func(stmt *sqlite.Stmt) error {
		l.ID, l.Head.Version, l.Head.Modified = stmt.ColumnInt64(0), uint64(stmt.ColumnInt64(1)), fromMillis(stmt.ColumnInt64(2))
		return nil
	})
	if err == nil && l.ID != 0 {
		err = loadRows(conn, l)
	}
	if err != nil {
		return store.Loaded{}, err
	}
	l.Head.Seal()
	return l, nil
}

// loadRows fills a head. SQLite compares keys as bytes, as [api.Key] does.
func loadRows(conn *sqlite.Conn, l store.Loaded) error {
	for _, part := range []struct {
		sql string
		row func(*store.Head, *sqlite.Stmt) error
	}{
		{"SELECT key, sum, bytes, version, modified_ms FROM entries WHERE repo = ? ORDER BY key", addItem},
		{"SELECT key, version FROM tombs WHERE repo = ? ORDER BY key", addTomb},
		{"SELECT sum FROM redactions WHERE repo = ? ORDER BY sum", addRedaction},
	} {
		if err := query(conn, part.sql, []any{l.ID}, func(stmt *sqlite.Stmt) error { return part.row(l.Head, stmt) }); err != nil {
			return err
		}
	}
	return nil
}

func addItem(h *store.Head, stmt *sqlite.Stmt) error {
	key, err := columnKey(stmt, 0)
	if err != nil {
		return err
	}
	sum, err := columnSum(stmt, 1)
	if err != nil {
		return err
	}
	h.Items = append(h.Items, store.Item{
		Key: key, Sum: sum, Bytes: stmt.ColumnInt(2), Version: uint64(stmt.ColumnInt64(3)), Modified: fromMillis(stmt.ColumnInt64(4)),
	})
	return nil
}

func addTomb(h *store.Head, stmt *sqlite.Stmt) error {
	key, err := columnKey(stmt, 0)
	if err != nil {
		return err
	}
	h.Tombs = append(h.Tombs, store.Tomb{Key: key, Version: uint64(stmt.ColumnInt64(1))})
	return nil
}

func addRedaction(h *store.Head, stmt *sqlite.Stmt) error {
	sum, err := columnSum(stmt, 0)
	if err != nil {
		return err
	}
	h.Redacted = append(h.Redacted, sum)
	return nil
}
