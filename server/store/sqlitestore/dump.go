package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Row is one row of a table by the names of its columns: int64, float64, string,
// []byte or nil.
type Row = map[string]any

// Dump lends use a way to read whole tables as they are, all of one moment, for
// moving them elsewhere. The rows of a table end with an error, if any, and must be
// read to their end, or to where the reader stops, before the next table's.
func (s *Store) Dump(ctx context.Context, use func(table func(name string) iter.Seq2[Row, error]) error) error {
	err := s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := transact(conn, beginRead, func() error {
			return use(func(name string) iter.Seq2[Row, error] { return rowsOf(conn, name) })
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("reading the tables: %w", err)
	}
	return nil
}

// errStopped ends a walk whose reader wants no more.
var errStopped = errors.New("the reader stopped")

func rowsOf(conn *sqlite.Conn, name string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		stopped := false
		err := sqlitex.ExecuteTransient(conn, `SELECT * FROM "`+name+`"`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if stopped = !yield(rowOf(stmt), nil); stopped {
				return errStopped
			}
			return nil
		}})
		if err != nil && !stopped {
			yield(nil, fmt.Errorf("table %s: %w", name, err))
		}
	}
}

func rowOf(stmt *sqlite.Stmt) Row {
	row := make(Row, stmt.ColumnCount())
	for i := range stmt.ColumnCount() {
		switch name := stmt.ColumnName(i); stmt.ColumnType(i) {
		case sqlite.TypeInteger:
			row[name] = stmt.ColumnInt64(i)
		case sqlite.TypeFloat:
			row[name] = stmt.ColumnFloat(i)
		case sqlite.TypeText:
			row[name] = stmt.ColumnText(i)
		case sqlite.TypeBlob:
			blob := make([]byte, stmt.ColumnLen(i))
			stmt.ColumnBytes(i, blob)
			row[name] = blob
		default:
			row[name] = nil
		}
	}
	return row
}
