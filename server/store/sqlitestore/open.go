package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/server/store"
)

// The files of a data directory.
const (
	databaseName = "teammemd.db"
	lockName     = "server.lock"
)

const (
	// readers is how many reads of a serving store touch the database at once.
	readers = 4
	// maxCachedRows bounds the cached heads, to about 300 MB.
	maxCachedRows = 2_000_000
)

var (
	// errClosed is what a call meets after Close.
	errClosed = errors.New("the store is closed")
	// errNoDatabase is what a file of another kind meets.
	errNoDatabase = errors.New("this file is not a database")
	// errNotServing is what Update meets without the serving lock.
	errNotServing = errors.New("the store was opened for credentials only")
)

// Options configure a [Store]. Dir is required.
type Options struct {
	// Dir is the data directory; it is created with mode 0700.
	Dir string
	// Serve takes the serving lock: without it Update is refused, and only
	// credentials may be changed, also beside a server that runs.
	Serve bool
}

// Store is a [store.Backend] on SQLite.
type Store struct {
	dir    string
	path   string
	lock   *flock.Flock // nil without Serve
	writer *sqlite.Conn // nil when closed; owned by whoever holds turn
	reader *sqlitex.Pool
	epoch  string
	heads  *store.Cache // nil without Serve: another process may write

	turn chan struct{} // holds one value while somebody writes

	mu     sync.Mutex
	queue  []*update   // guarded by mu
	closed atomic.Bool // set under mu, so that nothing is queued after it
}

var _ store.Backend = (*Store)(nil)

// Open opens the store, creates it when there is none, and brings an older
// schema up to date. [store.ErrLocked] when another process serves it,
// [store.ErrNewerSchema] when a newer release wrote it. It starts no goroutine.
func Open(ctx context.Context, opts Options) (*Store, error) {
	s := &Store{dir: opts.Dir, path: filepath.Join(opts.Dir, databaseName), turn: make(chan struct{}, 1)}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating data directory: %w", err)
	}
	pool := 1
	if opts.Serve {
		pool = readers
		s.heads = store.NewCache(maxCachedRows)
		if err := s.takeLock(); err != nil {
			return nil, err
		}
	}
	if err := s.open(ctx, pool); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", s.path, err), s.Close())
	}
	return s, nil
}

func (s *Store) takeLock() error {
	lock := flock.New(filepath.Join(s.dir, lockName), flock.SetPermissions(0o600))
	locked, err := lock.TryLock()
	if err != nil {
		return errors.Join(fmt.Errorf("locking %q: %w", s.dir, err), lock.Close())
	}
	if !locked {
		return errors.Join(fmt.Errorf("%w: %q", store.ErrLocked, s.dir), lock.Close())
	}
	s.lock = lock
	return nil
}

func (s *Store) open(ctx context.Context, pool int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := createFile(s.path); err != nil {
		return err
	}
	var err error
	if s.writer, err = sqlite.OpenConn(s.path, sqlite.OpenReadWrite); err != nil {
		return err
	}
	if err := migrate(s.writer); err != nil {
		return err
	}
	s.reader, err = sqlitex.NewPool(s.path, sqlitex.PoolOptions{
		Flags: sqlite.OpenReadOnly, PoolSize: pool, PrepareConn: prepareReader,
	})
	if err != nil {
		return err
	}
	s.epoch, err = s.loadEpoch(ctx)
	return err
}

// createFile makes an empty database that only its owner may read; SQLite gives
// its side files the same mode.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return checkFile(path)
	}
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	// The directory's own name must last as well; its content SQLite syncs.
	return atomicfile.SyncPath(filepath.Dir(filepath.Dir(path)))
}

// checkFile refuses what SQLite takes for an empty database and overwrites: any
// file that is shorter than a header.
func checkFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	const magic = "SQLite format 3\x00"
	start := make([]byte, len(magic))
	_, err = io.ReadFull(file, start)
	if errors.Is(err, io.EOF) || (err == nil && string(start) == magic) {
		return nil
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return errNoDatabase
}

func (s *Store) loadEpoch(ctx context.Context) (epoch string, err error) {
	err = s.read(ctx, "SELECT value FROM meta WHERE name = 'epoch'", nil, func(stmt *sqlite.Stmt) error {
		epoch = stmt.ColumnText(0)
		return nil
	})
	if err == nil && epoch == "" {
		err = errors.New("the database has no epoch: it is damaged")
	}
	return epoch, err
}

// Close commits the updates that wait, interrupts reads and releases the files.
// Calls that come later fail; closing twice does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed.Swap(true)
	s.mu.Unlock()
	if closed {
		return nil
	}
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	for s.commitGroup() {
	}
	var errs []error
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		// The last to close: it moves the log into the database.
		errs = append(errs, s.writer.Close())
		s.writer = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing %q: %w", s.path, err)
	}
	return nil
}
