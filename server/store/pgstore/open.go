package pgstore

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

const (
	// DefaultMaxConns is how many connections a store keeps at most where the DSN
	// does not say (pool_max_conns). Commits that wait for the disk together are
	// written together, so a few more than processors pay.
	DefaultMaxConns = 24
	// DefaultPatience is the default of [Options.Patience].
	DefaultPatience = 2 * time.Second

	// connectTimeout bounds one try of one host, where the DSN does not say.
	connectTimeout = 3 * time.Second
	// commitTime is how long a commit may take, a standby's confirmation included,
	// before its outcome counts as unknown.
	commitTime = 10 * time.Second
)

// Options configure [Open]. DSN is required.
type Options struct {
	// DSN is a URL or keywords and values as libpq takes them, with several hosts
	// where there are standbys: "host=a,b target_session_attrs=read-write ...".
	DSN string
	// Serve lets repos be changed and keeps heads in memory. Without it only
	// credentials may be changed. Several processes may serve one database.
	Serve bool
	// CachedRows bounds the entries and tombstones of all heads in memory
	// together, each about 150 bytes; 0 means [DefaultCachedRows].
	CachedRows int
	// Patience is how long a call goes on trying while the database cannot be
	// reached; 0 means [DefaultPatience].
	Patience time.Duration
	// Keys encrypt the contents that are written from now on, and open those that
	// are encrypted; nil for none. Opening for serving is [seal.ErrNoKey] where a
	// data key needs one that is not there.
	Keys *seal.Keys
	// Meter counts what happens; each update is a transaction of its own. Default:
	// nobody does.
	Meter store.Meter
	// Log gets one line when the feed loses and finds its connection. Default:
	// discarded.
	Log *slog.Logger
}

// Store is a [store.Backend] on PostgreSQL.
type Store struct {
	pool     *pgxpool.Pool
	serve    bool
	patience time.Duration
	meter    store.Meter
	log      *slog.Logger
	name     string // random: it tells own notifications from others'

	heads headCache
	lines lines
	feed  feed
	seals sealer

	outage outage

	closing chan struct{}
	once    sync.Once
	active  sync.WaitGroup // updates under way
	gate    sync.RWMutex   // held for writing while closing is closed, so that none begins after active.Wait
}

var (
	_ store.Backend = (*Store)(nil)
	_ store.Feed    = (*Store)(nil)
)

var (
	errClosed     = errors.New("the store is closed")
	errNotServing = errors.New("the store was not opened for serving: only credentials may be changed")
	errNoDSN      = errors.New("opening the store: no address of a database given")
	errEncoding   = errors.New("the database must have the encoding UTF8")
)

// Open connects, and brings an older schema up to date. [store.ErrNewerSchema]
// when a newer release wrote it. No error quotes the DSN's password.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.DSN == "" {
		return nil, errNoDSN
	}
	config, err := poolConfig(o.DSN)
	if err != nil {
		return nil, err
	}
	return connect(ctx, config, o)
}

func connect(ctx context.Context, config *pgxpool.Config, o Options) (s *Store, err error) {
	s = &Store{
		serve: o.Serve, patience: cmp.Or(o.Patience, DefaultPatience), log: o.Log, name: rand.Text(),
		closing: make(chan struct{}), meter: o.Meter,
	}
	if s.meter == nil {
		s.meter = store.Unmetered{}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.seals.keys = o.Keys
	s.feed.bell = make(chan struct{}, 1)
	if o.Serve {
		s.heads.limit = cmp.Or(o.CachedRows, DefaultCachedRows)
	}
	if err := migrate(ctx, config.ConnConfig, s.patience); err != nil {
		if isRefusal(err) {
			err = fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	if s.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	if o.Serve {
		if err := s.checkKeys(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("opening the database: %w", err), s.Close())
		}
	}
	return s, nil
}

// poolConfig reads a DSN and fills in what it leaves open.
func poolConfig(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// pgx takes passwords out of URLs and leaves what it could not read.
		return nil, ErrDSN
	}
	given, err := pgxpool.ParseConfig("")
	if err == nil && config.MaxConns == given.MaxConns {
		config.MaxConns = DefaultMaxConns
	}
	c := config.ConnConfig
	if c.ConnectTimeout <= 0 || c.ConnectTimeout > time.Minute {
		c.ConnectTimeout = connectTimeout
	}
	if c.RuntimeParams["application_name"] == "" {
		c.RuntimeParams["application_name"] = "teammemd"
	}
	c.OnNotice = noteWarning
	return config, nil
}

// ErrDSN says that an address of a database cannot be read.
var ErrDSN = errors.New("the address of the database is not a PostgreSQL URL, and no list of keywords and values")

// ErrRefused says that the database is there and does not let us in as asked: the
// password, the user or the database's name is wrong, or its encoding is.
var ErrRefused = errors.New("the database refuses the connection")

// CheckDSN says whether an address can be read. It never quotes it.
func CheckDSN(dsn string) error {
	_, err := poolConfig(dsn)
	return err
}

// warned is where a connection remembers that the server warned.
const warned = "warned"

// noteWarning keeps in mind that a statement was answered with a warning. Ours
// give no reason for one but this: a commit that stopped waiting for a standby.
// Its text is translated, so it is not looked at.
func noteWarning(conn *pgconn.PgConn, notice *pgconn.Notice) {
	if notice.SeverityUnlocalized == "WARNING" {
		conn.CustomData()[warned] = true
	}
}

// hadWarning reports whether the server warned since the last call.
func hadWarning(conn *pgx.Conn) bool {
	data := conn.PgConn().CustomData()
	had := data[warned] != nil
	delete(data, warned)
	return had
}

// enter counts an update as under way, unless the store is closed.
func (s *Store) enter() bool {
	s.gate.RLock()
	defer s.gate.RUnlock()
	select {
	case <-s.closing:
		return false
	default:
		s.active.Add(1)
		return true
	}
}

// Close waits for the updates under way, lets those that still queue end with an
// error, and closes the connections. Closing twice does nothing.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.gate.Lock()
		close(s.closing)
		s.gate.Unlock()
		s.active.Wait()
		s.heads.clear()
		s.pool.Close()
	})
	return nil
}
