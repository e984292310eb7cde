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

// busyTimeout is how long a write waits for another process's write.
const busyTimeout = 5 * time.Second

// errDamaged says that a stored value cannot be what we wrote.
var errDamaged = errors.New("the database is damaged")

// prepareWriter sets what makes a commit durable.
func prepareWriter(conn *sqlite.Conn) error {
	mode := ""
	err := query(conn, "PRAGMA journal_mode = wal", nil, func(stmt *sqlite.Stmt) error {
		mode = stmt.ColumnText(0)
		return nil
	})
	if err != nil {
		return fmt.Errorf("switching to a write-ahead log: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("this file system cannot hold a write-ahead log (journal mode %q)", mode)
	}
	for _, pragma := range []string{
		"PRAGMA synchronous = FULL",
		"PRAGMA fullfsync = ON", // macOS: fsync alone does not reach the disk there
		"PRAGMA checkpoint_fullfsync = ON",
		"PRAGMA journal_size_limit = 67108864", // give back what a large write took
	} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return err
		}
	}
	return nil
}

func prepareReader(conn *sqlite.Conn) error {
	conn.SetBusyTimeout(busyTimeout)
	return nil
}

// transact runs one write transaction. Whatever ends run early rolls back, a
// panic and the end of its goroutine included.
func transact(conn *sqlite.Conn, run func() error) (err error) {
	if err := exec(conn, "BEGIN IMMEDIATE"); err != nil {
		return explain(err)
	}
	defer func() {
		if !conn.AutocommitEnabled() {
			err = errors.Join(err, exec(conn, "ROLLBACK"))
		}
	}()
	if err := run(); err != nil {
		return explain(err)
	}
	if conn.AutocommitEnabled() {
		// After an error that run ignored: SQLite rolled back on its own.
		return errRolledBack
	}
	return explain(exec(conn, "COMMIT"))
}

// explain names what an operator can do something about.
func explain(err error) error {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case sqlite.ResultBusy:
		return fmt.Errorf("another process kept writing to the database for %v: %w", busyTimeout, err)
	}
	return err
}

// read runs a query on a connection of the pool.
func (s *Store) read(ctx context.Context, sql string, args []any, row func(*sqlite.Stmt) error) error {
	return s.snapshot(ctx, func(conn *sqlite.Conn) error { return query(conn, sql, args, row) })
}

// snapshot runs queries that see one state of the database.
func (s *Store) snapshot(ctx context.Context, run func(*sqlite.Conn) error) error {
	conn, err := s.reader.Take(ctx)
	if err != nil {
		return err
	}
	defer s.reader.Put(conn)
	if err = exec(conn, "BEGIN"); err == nil {
		err = run(conn)
	}
	conn.SetInterrupt(nil)
	if !conn.AutocommitEnabled() {
		err = errors.Join(err, exec(conn, "ROLLBACK"))
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err() // rather than that the query was interrupted
	}
	return err
}

func exec(conn *sqlite.Conn, sql string, args ...any) error {
	return sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args})
}

func query(conn *sqlite.Conn, sql string, args []any, row func(*sqlite.Stmt) error) error {
	return sqlitex.Execute(conn, sql, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

func columnKey(stmt *sqlite.Stmt, column int) (api.Key, error) {
	key, err := api.ParseKey(stmt.ColumnText(column))
	if err != nil {
		return api.Key{}, fmt.Errorf("%w: a key: %w", errDamaged, err)
	}
	return key, nil
}

// columnSum reads a checksum; NULL is none.
func columnSum(stmt *sqlite.Stmt, column int) (sum api.Checksum, err error) {
	if stmt.ColumnIsNull(column) {
		return sum, nil
	}
	if stmt.ColumnBytes(column, sum[:]) != len(sum) || stmt.ColumnLen(column) != len(sum) {
		return api.Checksum{}, fmt.Errorf("%w: a checksum's length", errDamaged)
	}
	return sum, nil
}

// fromMillis reads a stored time. The zero time has a number as well.
func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// optionalMillis stores the zero time as NULL.
func optionalMillis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

func columnOptionalTime(stmt *sqlite.Stmt, column int) time.Time {
	if stmt.ColumnIsNull(column) {
		return time.Time{}
	}
	return fromMillis(stmt.ColumnInt64(column))
}
