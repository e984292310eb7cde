package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// errClosed is what every call meets after Close.
var errClosed = errors.New("the store is closed")

// errLostTransaction says that SQLite rolled back by itself although every
// statement was reported as done.
var errLostTransaction = errors.New("the transaction ended before its commit")

const (
	beginRead  = "BEGIN"
	beginWrite = "BEGIN IMMEDIATE"
)

// transact runs run inside a transaction: committed when run returns nil,
// rolled back when it returns an error or does not return at all. began tells
// an error of the start, when nothing was tried, from a later one.
//
// After an error (a full disk, say) SQLite may have rolled back already, and
// what follows would be committed statement by statement. So run must stop at
// its first error.
func transact(conn *sqlite.Conn, begin string, run func() error) (began bool, err error) {
	// A rollback that failed must not keep the connection from all later work.
	if err := rollback(conn); err != nil {
		return false, err
	}
	if err := exec(conn, begin); err != nil {
		return false, err
	}
	committed := false
	defer func() {
		if committed {
			return
		}
		if undo := rollback(conn); undo != nil {
			err = errors.Join(err, fmt.Errorf("rolling back: %w", undo))
		}
	}()
	if err := run(); err != nil {
		return true, err
	}
	if conn.AutocommitEnabled() {
		return true, errLostTransaction
	}
	if err := exec(conn, "COMMIT"); err != nil {
		return true, err
	}
	committed = true
	return true, nil
}

// rollback ends the transaction, if one is open, also on a connection that was
// interrupted.
func rollback(conn *sqlite.Conn) error {
	if conn.AutocommitEnabled() {
		return nil
	}
	interrupt := conn.SetInterrupt(nil)
	defer conn.SetInterrupt(interrupt)
	return exec(conn, "ROLLBACK")
}

func exec(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}

// readConn lends run a connection for reading.
func (s *Store) readConn(ctx context.Context, run func(*sqlite.Conn) error) error {
	conn, err := s.reader.Take(ctx)
	if err == nil {
		err = run(conn)
		s.reader.Put(conn)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case s.heads.isClosed():
		return errClosed
	}
	return err
}

// read runs a query on a connection for reading.
func (s *Store) read(ctx context.Context, query string, args []any, row func(*sqlite.Stmt) error) error {
	return s.readConn(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
	})
}

// write runs one transaction of this store's own on the writer's connection.
func (s *Store) write(ctx context.Context, run func(*sqlite.Conn) error) error {
	return s.alone(ctx, func() error {
		_, err := s.commit(func() error { return run(s.writer) })
		return err
	})
}

// alone runs run while nobody else of this process writes.
func (s *Store) alone(ctx context.Context, run func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.closed {
		return errClosed
	}
	return run()
}

// commit runs a transaction of the writer. The turn is the caller's.
func (s *Store) commit(run func() error) (began bool, err error) {
	defer func() {
		s.actors.settle(began && err == nil)
		s.seals.settle(began && err == nil)
	}()
	return transact(s.writer, beginWrite, run)
}
