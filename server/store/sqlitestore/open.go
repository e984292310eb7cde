package sqlitestore

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// databaseName is the database's file in the data directory.
	databaseName = "teammemd.db"
	lockName     = "server.lock"

	// busyTimeout is how long a write waits for another process's write.
	busyTimeout = 5 * time.Second
	readers     = 4
)

// Options configure a [Store]. Dir is required.
type Options struct {
	// Dir is the data directory; it is created with mode 0700.
	Dir string
	// Serve takes the serving lock: without it only credentials may be changed,
	// also beside a server that runs.
	Serve bool
}

// Store is a [store.Backend] on SQLite.
type Store struct {
	dir    string
	path   string
	lock   *flock.Flock // nil without Serve
	writer *sqlite.Conn // owned by whoever holds turn
	reader *sqlitex.Pool
	epoch  string

	turn chan struct{} // holds one value while somebody writes

	mu    sync.Mutex
	queue []*update             // guarded by mu
	heads map[api.Repo]*repoRow // guarded by mu
	items int                   // rows in heads; guarded by mu
}

var _ store.Backend = (*Store)(nil)

// Open opens the store, creates it when there is none, and brings an older
// schema up to date. [store.ErrLocked] when another process serves it,
// [store.ErrNewerSchema] when a newer release wrote it.
func Open(ctx context.Context, opts Options) (*Store, error) {
	s := &Store{dir: opts.Dir, path: filepath.Join(opts.Dir, databaseName), turn: make(chan struct{}, 1), heads: make(map[api.Repo]*repoRow)}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating data directory: %w", err)
	}
	if opts.Serve {
		s.lock = flock.New(filepath.Join(opts.Dir, lockName), flock.SetPermissions(0o600))
		locked, err := s.lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("locking %q: %w", opts.Dir, err)
		}
		if !locked {
			return nil, fmt.Errorf("%w: %q", store.ErrLocked, opts.Dir)
		}
	}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening %q: %w", s.path, err), s.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	// SQLite gives its side files the mode of the database.
	file, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	if s.writer, err = sqlite.OpenConn(s.path, sqlite.OpenReadWrite|sqlite.OpenWAL); err != nil {
		return err
	}
	s.writer.SetBusyTimeout(busyTimeout)
	if err := sqlitex.ExecuteTransient(s.writer, "PRAGMA synchronous = FULL", nil); err != nil {
		return err
	}
	if err := s.migrate(); err != nil {
		return err
	}
	s.reader, err = sqlitex.NewPool(s.path, sqlitex.PoolOptions{Flags: sqlite.OpenReadOnly | sqlite.OpenWAL, PoolSize: readers,
		PrepareConn: func(c *sqlite.Conn) error { c.SetBusyTimeout(busyTimeout); return nil }})
	if err != nil {
		return err
	}
	s.epoch, err = s.loadEpoch(ctx)
	return err
}

// migrate applies what is missing, each step in a transaction of its own.
func (s *Store) migrate() error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	have, err := s.schemaVersion()
	if err != nil {
		return err
	}
	if have > len(names) {
		return fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewerSchema, have, len(names))
	}
	for number := have; number < len(names); number++ {
		if err := s.applyMigration(names[number], number); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", number+1, err)
		}
	}
	return nil
}

func (s *Store) schemaVersion() (version int, err error) {
	err = sqlitex.ExecuteTransient(s.writer, "PRAGMA user_version", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		version = stmt.ColumnInt(0)
		return nil
	}})
	return version, err
}

// applyMigration runs one script, unless another process did meanwhile.
func (s *Store) applyMigration(name string, number int) (err error) {
	end, err := sqlitex.ImmediateTransaction(s.writer)
	if err != nil {
		return err
	}
	defer end(&err)
	have, err := s.schemaVersion()
	if err != nil || have > number {
		return err
	}
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	if err := sqlitex.ExecuteScript(s.writer, string(script), nil); err != nil {
		return err
	}
	if number == 0 {
		if err := sqlitex.Execute(s.writer, "INSERT INTO meta (name, value) VALUES ('epoch', ?), ('credential_generation', 1)",
			&sqlitex.ExecOptions{Args: []any{newEpoch()}}); err != nil {
			return err
		}
	}
	return sqlitex.ExecuteTransient(s.writer, fmt.Sprintf("PRAGMA user_version = %d", number+1), nil)
}

// newEpoch returns 128 random bits; a colon or semicolon never stands in it.
func newEpoch() string { return rand.Text() }

func (s *Store) loadEpoch(ctx context.Context) (epoch string, err error) {
	err = s.read(ctx, "SELECT value FROM meta WHERE name = 'epoch'", nil, func(stmt *sqlite.Stmt) error {
		epoch = stmt.ColumnText(0)
		return nil
	})
	if err == nil && epoch == "" {
		err = errors.New("the database has no epoch: it is not one of ours, or damaged")
	}
	return epoch, err
}

// Close waits for the write that is under way and releases the files. It may be
// called once.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	var errs []error
	if s.reader != nil {
		errs = append(errs, s.reader.Close())
	}
	if s.writer != nil {
		errs = append(errs, s.writer.Close())
		s.writer = nil
	}
	if s.lock != nil {
		errs = append(errs, s.lock.Unlock())
	}
	return errors.Join(errs...)
}

// read runs a query on a connection of the pool.
func (s *Store) read(ctx context.Context, query string, args []any, row func(*sqlite.Stmt) error) error {
	conn, err := s.reader.Take(ctx)
	if err != nil {
		return err
	}
	defer s.reader.Put(conn)
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}
