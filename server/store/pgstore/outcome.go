package pgstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/teammem/teammemd/server/store"
)

// ErrUnknown says that a change may have been committed or not, and that looking
// was impossible.
var ErrUnknown = errors.New("the outcome is unknown")

// What the version of an outbox row says beside the version that a change made.
const (
	beside   = 0  // something else of the repo changed, or of the server for repo 0
	givenUp  = -1 // the change never happened and never will
	anything = -2 // whatever was read may be wrong
)

// notice is what the outbox row of a transaction tells other servers.
type notice struct {
	repo    int64
	name    string
	version int64
}

// Codes of PostgreSQL that we act on.
const (
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006" // this server is a standby by now
	codeTooMany       = "53300" // of connections
	codeFull          = "53100" // the disk
)

const (
	firstPause = 10 * time.Millisecond
	lastPause  = 200 * time.Millisecond
)

// change is the identity of one transaction. It tells later, for as long as the
// outbox is kept, whether it was committed.
type change [16]byte

func newChange() (c change) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}

// refused reports whether the server answered an error for a statement: nothing
// of its transaction stays.
func refused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized == "ERROR"
}

// mayRetry reports whether another try can help: the connection was lost or could
// not be had, or the transaction met another. Whether it is safe is the caller's
// to know.
func mayRetry(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return isOutage(err)
	}
	switch e.Code {
	case codeSerialization, codeDeadlock, codeReadOnly, codeTooMany:
		return true
	}
	// Connection exceptions and operator intervention. A full disk stays so.
	return !isRefusal(err) && (e.SeverityUnlocalized != "ERROR" || e.Code[:2] == "08" || e.Code[:2] == "57")
}

// isRefusal reports whether the database answered and another try does not help:
// what the connection asks for must be mended.
func isRefusal(err error) bool {
	if errors.Is(err, errEncoding) {
		return true
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code[:2] == "28" || e.Code[:2] == "3D" || e.Code == "42501") // authentication, no such database, no right
}

// isOutage reports whether err, which is none that the server answered, is about
// the connection.
func isOutage(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || pgconn.SafeToRetry(err) || errors.Is(err, errNoStandby) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// retry runs run until it succeeds, fails for a reason that another try does not
// mend, or patience is at its end.
func retry(ctx context.Context, patience time.Duration, run func() error) error {
	begun, pause := time.Now(), firstPause
	for {
		err := run()
		if err == nil || !mayRetry(err) || time.Since(begun)+pause > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
}

// read runs a query that changes nothing, again where the connection was lost.
func (s *Store) read(ctx context.Context, run func(querier) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.outage.known() {
		return errOutage
	}
	err := retry(ctx, s.patience, func() error {
		if s.isClosed() {
			return errClosed
		}
		return run(s.pool)
	})
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	s.outage.note(err != nil && mayRetry(err))
	return err
}

var errOutage = errors.New("the database cannot be reached")

// silence is how long reads are answered at once after one that waited in vain, so
// that a server whose database is gone says so without holding up anybody.
const silence = 250 * time.Millisecond

// outage remembers when the database could not be reached, in nanoseconds since
// 1970, 0 for not. It is safe for concurrent use.
type outage struct{ at atomic.Int64 }

func (o *outage) known() bool {
	at := o.at.Load()
	age := time.Duration(time.Now().UnixNano() - at)
	return at != 0 && age >= 0 && age < silence
}

func (o *outage) note(failed bool) {
	switch {
	case failed:
		o.at.Store(time.Now().UnixNano())
	case o.at.Load() != 0:
		o.at.Store(0)
	}
}

// querier is what reads: the pool, or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// commit is a transaction that is known by its change; run does its work. After a
// connection that was lost during the commit, it finds out what became of it.
// Updates of repos have their own way.
//
// An error that run returned means that nothing was changed.
func (s *Store) commit(ctx context.Context, n notice, run func(context.Context, pgx.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := retry(ctx, s.patience, func() error {
		id := newChange()
		lost, err := s.try(ctx, id, n, run)
		if !lost {
			return err
		}
		_, done, lookErr := s.look(ctx, id, n.repo, err)
		if lookErr != nil || done {
			return lookErr
		}
		return err // it was given up: try again
	})
	if err == nil {
		s.ring()
	}
	return orFull(err)
}

// orFull marks the error of a write that found no room.
func orFull(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == codeFull {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// try runs one transaction. lost says that its outcome is not known.
func (s *Store) try(ctx context.Context, id change, n notice, run func(context.Context, pgx.Tx) error) (lost bool, err error) {
	if s.isClosed() {
		return false, errClosed
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, err
	}
	err = run(ctx, tx)
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO outbox (repo, change, name, version) VALUES ($1, $2, $3, $4)", n.repo, [16]byte(id), n.name, n.version)
	}
	if err != nil {
		s.rollback(ctx, tx)
		return false, err
	}
	return s.finish(ctx, conn, tx)
}

// rollback ends a transaction that is given up; a connection that cannot do so is
// closed by its pool.
func (s *Store) rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	_ = tx.Rollback(ctx)
}

// finish commits. Once it began it is not cut short: a wait for a standby that
// was cancelled says nothing.
func (s *Store) finish(ctx context.Context, conn *pgxpool.Conn, tx pgx.Tx) (lost bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	hadWarning(conn.Conn())
	err = tx.Commit(ctx)
	switch {
	case err == nil && hadWarning(conn.Conn()):
		return true, errNoStandby
	case err == nil:
		return false, nil
	}
	return !refused(err), err
}

var errNoStandby = errors.New("no standby confirmed the commit")

// look finds out what became of a change whose commit was lost from sight, and
// settles it: it returns the version that the change made, or makes sure that it
// never happens. Inserting the change's own row waits for a transaction that is
// still under way; since it writes in either case, its commit is confirmed by a
// standby, where one is asked for, after the change's own.
//
// cause goes into [ErrUnknown] where the database cannot be asked.
func (s *Store) look(ctx context.Context, id change, repo int64, cause error) (version int64, done bool, err error) {
	ctx = context.WithoutCancel(ctx)
	err = retry(ctx, commitTime, func() error {
		ctx, cancel := context.WithTimeout(ctx, commitTime)
		defer cancel()
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
		hadWarning(conn.Conn())
		err = conn.QueryRow(ctx, `INSERT INTO outbox (repo, change, name, version) VALUES ($1, $2, '', $3)
			ON CONFLICT (repo, change) DO UPDATE SET looked = outbox.looked + 1 RETURNING version`, repo, [16]byte(id), givenUp).Scan(&version)
		if err == nil && hadWarning(conn.Conn()) {
			err = errNoStandby
		}
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("%w: %w; looking: %w", ErrUnknown, cause, err)
	}
	return version, version != givenUp, nil
}
