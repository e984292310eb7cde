package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// scrubPause is how long readers get to leave the log before the next try.
const scrubPause = 20 * time.Millisecond

var errLogInUse = errors.New("somebody goes on reading the write-ahead log; try again")

// Scrub writes the database anew, without what was deleted, and empties the log.
// Writes wait meanwhile, reads do not. Deleted rows become zeros as they are
// deleted, but rows that SQLite moves leave copies in the pages where they were,
// so nothing less will do. Beyond its reach are the blocks that the file system
// and the drive gave up, and earlier backups.
func (s *Store) Scrub(ctx context.Context) error {
	err := s.alone(ctx, func() error {
		interrupt := s.writer.SetInterrupt(ctx.Done())
		defer s.writer.SetInterrupt(interrupt)
		if err := sqlitex.ExecuteTransient(s.writer, "VACUUM", nil); err != nil {
			return err
		}
		return s.emptyLog(ctx)
	})
	if err != nil && ctx.Err() != nil {
		err = ctx.Err() // whatever SQLite calls it
	}
	if err != nil {
		return fmt.Errorf("scrubbing the database: %w", err)
	}
	return nil
}

// emptyLog folds the log into the database. It waits for readers as long as for
// a busy database. The turn is the caller's.
func (s *Store) emptyLog(ctx context.Context) error {
	interrupt := s.writer.SetInterrupt(ctx.Done())
	defer s.writer.SetInterrupt(interrupt)
	deadline := time.Now().Add(s.busy)
	for {
		empty, err := truncateLog(s.writer)
		if err != nil || empty {
			return err
		}
		if time.Now().After(deadline) {
			return errLogInUse
		}
		select {
		case <-time.After(scrubPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// truncateLog folds the log into the database and cuts it to nothing, unless a
// reader still needs it.
func truncateLog(conn *sqlite.Conn) (empty bool, err error) {
	err = sqlitex.ExecuteTransient(conn, "PRAGMA wal_checkpoint(TRUNCATE)", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		empty = stmt.ColumnInt(0) == 0
		return nil
	}})
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultBusy {
		return false, nil
	}
	return empty, err
}
