package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

const (
	// databaseName is the database's file in the data directory.
	databaseName = "teammemd.db"
	lockName     = "server.lock"

	readers = 4

	// smallestDatabase is SQLite's smallest page, in bytes.
	smallestDatabase = 512

	// switchPause is how long a new database is left to others before another
	// try to switch its journal.
	switchPause = 5 * time.Millisecond

	// DefaultBusyTimeout is the default of [Options.BusyTimeout].
	DefaultBusyTimeout = 5 * time.Second
)

// writerPragmas set up the writer's connection. The log is folded into the
// database every 16 MB: at SQLite's 4 MB, one large write in twenty pays for it.
// After a burst it keeps at most 64 MB.
var writerPragmas = []string{
	"PRAGMA synchronous = FULL",
	// What is deleted becomes zeros, see Scrub.
	"PRAGMA secure_delete = ON",
	// On macOS a plain fsync leaves the data in the drive's cache.
	"PRAGMA fullfsync = ON",
	"PRAGMA checkpoint_fullfsync = ON",
	"PRAGMA wal_autocheckpoint = 4000",
	"PRAGMA journal_size_limit = 67108864",
}

// Options configure a [Store]. Dir is required.
type Options struct {
	// Dir is the data directory; it is created with mode 0700.
	Dir string
	// Serve takes the serving lock: without it repos can be read and only
	// credentials may be changed, also beside a server that runs.
	Serve bool
	// CachedRows bounds the entries and tombstones of all heads in memory
	// together, each about 150 bytes; 0 means [DefaultCachedRows].
	CachedRows int
	// Keys encrypt the contents that are written from now on, and open those that
	// are encrypted; nil for none. Opening for serving is [seal.ErrNoKey] where a
	// data key needs one that is not there.
	Keys *seal.Keys
	// Meter counts what happens. Default: nobody does.
	Meter store.Meter
	// BusyTimeout is how long a write waits for another process's write; 0
	// means [DefaultBusyTimeout].
	BusyTimeout time.Duration
}

// Store is a [store.Backend] on SQLite.
type Store struct {
	dir    string
	path   string
	busy   time.Duration
	lock   *flock.Flock // nil without Serve
	writer *sqlite.Conn // owned by whoever holds turn
	reader *sqlitex.Pool

	turn   chan struct{} // holds one value while somebody writes
	closed bool          // owned by whoever holds turn
	queue  queue
	actors actorCache // owned by whoever holds turn
	seals  sealer
	heads  headCache
	glance glance
	meter  store.Meter
}

var _ store.Backend = (*Store)(nil)

// Open opens the store, creates it when there is none, and brings an older
// schema up to date. [store.ErrLocked] when another process serves it,
// [store.ErrNewerSchema] when a newer release wrote it.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if opts.Dir == "" {
		return nil, errors.New("opening the store: no data directory given")
	}
	s := &Store{
		dir: opts.Dir, path: filepath.Join(opts.Dir, databaseName),
		busy: cmp.Or(opts.BusyTimeout, DefaultBusyTimeout), turn: make(chan struct{}, 1), meter: opts.Meter,
	}
	if s.meter == nil {
		s.meter = store.Unmetered{}
	}
	s.seals.keys = opts.Keys
	if opts.Serve {
		s.heads.limit = cmp.Or(opts.CachedRows, DefaultCachedRows)
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating data directory: %w", err)
	}
	if opts.Serve {
		lock, err := lockDir(opts.Dir)
		if err != nil {
			return nil, err
		}
		s.lock = lock
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", s.path, err), s.Close())
	}
	return s, nil
}

// lockDir takes the serving lock of a data directory.
func lockDir(dir string) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %q: %w", dir, err)
	}
	if !locked {
		return nil, fmt.Errorf("%w: %q", store.ErrLocked, dir)
	}
	return lock, nil
}

func (s *Store) open(ctx context.Context) error {
	created, err := createFile(s.path)
	if err != nil {
		return err
	}
	if s.writer, err = sqlite.OpenConn(s.path, sqlite.OpenReadWrite); err != nil {
		return err
	}
	s.writer.SetBusyTimeout(s.busy)
	// Nothing is touched before it is known to be ours.
	if err := s.checkSchema(); err != nil {
		return err
	}
	if err := closeToOthers(s.path); err != nil {
		return err
	}
	if err := s.useWAL(ctx); err != nil {
		return err
	}
	for _, pragma := range writerPragmas {
		if err := sqlitex.ExecuteTransient(s.writer, pragma, nil); err != nil {
			return err
		}
	}
	if err := s.migrate(); err != nil {
		return err
	}
	if created {
		// SQLite syncs the directory for its own files; whether the directory
		// itself survives a loss of power is up to us, where we may see it.
		if err := atomicfile.SyncPath(filepath.Dir(s.dir)); err != nil && !errors.Is(err, os.ErrPermission) {
			return fmt.Errorf("syncing the data directory's parent: %w", err)
		}
	}
	s.reader, err = sqlitex.NewPool(s.path, sqlitex.PoolOptions{
		Flags: sqlite.OpenReadOnly | sqlite.OpenWAL, PoolSize: readers,
		PrepareConn: func(c *sqlite.Conn) error { c.SetBusyTimeout(s.busy); return nil },
	})
	if err != nil {
		return err
	}
	if err := s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := loadEpoch(conn)
		return err
	}); err != nil || s.lock == nil {
		return err
	}
	return s.checkKeys(ctx)
}

// createFile makes the database's file, if there is none, readable by its owner
// alone. SQLite gives its side files the mode of the database.
func createFile(path string) (created bool, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return false, checkFile(path)
	}
	if err != nil {
		return false, err
	}
	return true, file.Close()
}

// checkFile refuses a file that is too short for a database: SQLite takes it for
// an empty one and writes over it. What is longer SQLite judges itself.
func checkFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if size := info.Size(); info.Mode().IsRegular() && size > 0 && size < smallestDatabase {
		return fmt.Errorf("file is not a database: it has only %d bytes", size)
	}
	return nil
}

// closeToOthers takes away what a copy by hand may have left open to others.
func closeToOthers(path string) error {
	for _, side := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + side)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			err = os.Chmod(path+side, 0o600)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// useWAL turns on the write-ahead log. It refuses a file system on which SQLite
// falls back to another journal without an error: readers would then block
// writers.
func (s *Store) useWAL(ctx context.Context) error {
	mode, err := s.switchToWAL(ctx)
	if err == nil && mode != "wal" {
		err = errors.New("this file system cannot hold a write-ahead log; use a local disk")
	}
	return err
}

// switchToWAL returns the journal mode that SQLite has afterwards. When several
// processes open a new database, each holds a lock that the switch of the others
// needs, so SQLite answers "busy" at once, whatever the timeout: we wait instead.
func (s *Store) switchToWAL(ctx context.Context) (mode string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.busy)
	defer cancel()
	for {
		err := sqlitex.ExecuteTransient(s.writer, "PRAGMA journal_mode = wal", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			mode = stmt.ColumnText(0)
			return nil
		}})
		if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultBusy {
			return mode, err
		}
		select {
		case <-time.After(switchPause):
		case <-ctx.Done():
			return "", err
		}
	}
}

// Close waits for the write that is under way, lets the updates that still
// queue end with an error, and releases the files. Reads under way are
// interrupted. Closing twice does nothing.
func (s *Store) Close() error {
	s.heads.close()
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	// The last connection to close folds the log into the database.
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}
