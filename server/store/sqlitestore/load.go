package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Head returns the current snapshot: from memory but for the first time, or
// from the database when another process may be the one that writes.
func (s *Store) Head(ctx context.Context, repo api.Repo) (*store.Head, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("reading %q: %w", repo, err)
	}
	row := s.heads.get(repo)
	s.meter.HeadRead(row != nil)
	if row == nil {
		var err error
		if row, err = s.snapshot(ctx, repo); err != nil {
			return nil, fmt.Errorf("reading %q: %w", repo, err)
		}
	}
	if row.head.Version == 0 {
		return nil, fmt.Errorf("%w: %q", store.ErrNoRepo, repo)
	}
	return row.head, nil
}

// snapshot reads a head in a transaction of its own, so that its rows belong
// together, and remembers it.
func (s *Store) snapshot(ctx context.Context, repo api.Repo) (row *repoRow, err error) {
	s.heads.begin(repo)
	defer func() {
		if err != nil || row.id == 0 {
			s.heads.end(repo, nil)
			return
		}
		s.heads.end(repo, row)
	}()
	err = s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := transact(conn, beginRead, func() (err error) {
			row, err = loadRow(conn, repo)
			return err
		})
		return err
	})
	return row, err
}

// current returns the head as the writer sees it, before its transaction
// changes the repo.
func (s *Store) current(repo api.Repo) (*repoRow, error) {
	if row := s.heads.get(repo); row != nil {
		return row, nil
	}
	row, err := loadRow(s.writer, repo)
	if err == nil && row.id != 0 {
		s.heads.publish(repo, row)
	}
	return row, err
}

// repoID returns the number of a repo that was written, or [store.ErrNoRepo].
func (s *Store) repoID(ctx context.Context, repo api.Repo) (id int64, err error) {
	if row := s.heads.get(repo); row != nil && row.head.Version > 0 {
		return row.id, nil
	}
	err = s.read(ctx, "SELECT id FROM repos WHERE name = ? AND version > 0", []any{repo.String()}, func(stmt *sqlite.Stmt) error {
		id = stmt.ColumnInt64(0)
		return nil
	})
	if err == nil && id == 0 {
		err = store.ErrNoRepo
	}
	return id, err
}

// loadRow reads a head inside a transaction.
func loadRow(conn *sqlite.Conn, repo api.Repo) (*repoRow, error) {
	epoch, err := loadEpoch(conn)
	if err != nil {
		return nil, err
	}
	head := &store.Head{Repo: repo, Epoch: epoch}
	row := &repoRow{head: head}
	err = sqlitex.Execute(conn, "SELECT id, version, modified_ms FROM repos WHERE name = ?", &sqlitex.ExecOptions{
		Args: []any{repo.String()},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			row.id, head.Version = stmt.ColumnInt64(0), uint64(stmt.ColumnInt64(1))
			if head.Version > 0 {
				head.Modified = columnTime(stmt, 2)
			}
			return nil
		},
	})
	if err == nil && row.id != 0 {
		row.chain, err = loadChain(conn, row.id)
	}
	if err != nil {
		return nil, err
	}
	if head.Version > 0 {
		for _, part := range []func(*sqlite.Conn, *repoRow) error{loadItems, loadTombs, loadRedactions} {
			if err := part(conn, row); err != nil {
				return nil, err
			}
		}
	}
	head.Seal()
	return row, nil
}

// Keys are compared as bytes by SQLite as well, so the rows come sorted.

func loadItems(conn *sqlite.Conn, row *repoRow) error {
	return sqlitex.Execute(conn, "SELECT key, sum, bytes, version, modified_ms, allowed FROM entries WHERE repo = ? ORDER BY key", &sqlitex.ExecOptions{
		Args: []any{row.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			key, err := columnKey(stmt, 0)
			if err != nil {
				return err
			}
			sum, err := columnSum(stmt, 1)
			if err != nil {
				return err
			}
			row.head.Items = append(row.head.Items, store.Item{
				Key: key, Sum: sum, Bytes: stmt.ColumnInt(2), Version: uint64(stmt.ColumnInt64(3)), Modified: columnTime(stmt, 4),
				Allowed: stmt.ColumnText(5),
			})
			return nil
		},
	})
}

func loadTombs(conn *sqlite.Conn, row *repoRow) error {
	return sqlitex.Execute(conn, "SELECT key, version FROM tombs WHERE repo = ? ORDER BY key", &sqlitex.ExecOptions{
		Args: []any{row.id},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			key, err := columnKey(stmt, 0)
			if err != nil {
				return err
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
			sum, err := columnSum(stmt, 0)
			row.head.Redacted = append(row.head.Redacted, sum)
			return err
		},
	})
}

func columnKey(stmt *sqlite.Stmt, column int) (api.Key, error) {
	key, err := api.ParseKey(stmt.ColumnText(column))
	if err != nil {
		return api.Key{}, fmt.Errorf("a stored key is damaged: %w", err)
	}
	return key, nil
}

// columnSum reads a checksum; NULL is none.
func columnSum(stmt *sqlite.Stmt, column int) (sum api.Checksum, err error) {
	return sum, columnBlob(stmt, column, sum[:])
}

// columnBlob reads a value that has as many bytes as into; NULL leaves it alone.
func columnBlob(stmt *sqlite.Stmt, column int, into []byte) error {
	if stmt.ColumnIsNull(column) {
		return nil
	}
	if length := stmt.ColumnLen(column); length != len(into) {
		return fmt.Errorf("a stored %s is damaged: it has %d bytes, not %d", stmt.ColumnName(column), length, len(into))
	}
	stmt.ColumnBytes(column, into)
	return nil
}

// columnTime reads the time of a change.
func columnTime(stmt *sqlite.Stmt, column int) time.Time {
	return time.UnixMilli(stmt.ColumnInt64(column)).UTC()
}
