package pgstore

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
)

const (
	// channel carries the bell. Its payload is the name of who rings.
	channel = "teammemd"
	// ringEvery bounds how often one server rings. A notification takes a lock that
	// all commits of a cluster share, so it is never sent inside of a change, and
	// many changes share one.
	ringEvery = 10 * time.Millisecond
	// pollEvery is how long a change can stay unseen whose server died before it
	// rang.
	pollEvery = time.Second
	// outboxAge is how long rows are kept, and maxGap how long a follower may have
	// looked away and still miss nothing.
	outboxAge = 10 * time.Minute
	maxGap    = outboxAge / 2
)

// feed is what [Store.Follow] and those who commit share.
type feed struct {
	bell   chan struct{} // holds one value while something was committed and not told
	spread bool          // follow as if the outbox were spread over nodes; for tests
}

// ring lets other servers know that something was committed, soon.
func (s *Store) ring() {
	select {
	case s.feed.bell <- struct{}{}:
	default:
	}
}

// Follow tells of the changes that every server makes, and keeps the heads in
// memory fresh while it runs. While it does not, or cannot reach the database,
// each read looks at the database for itself.
func (s *Store) Follow(ctx context.Context, changed func(repo api.Repo, version uint64)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { s.ringing(ctx); return nil })
	group.Go(func() error { s.following(ctx, changed); return nil })
	group.Go(func() error { s.tidying(ctx); return nil })
	return group.Wait()
}

// ringing sends the notifications.
func (s *Store) ringing(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.feed.bell:
		}
		// Nothing is lost with one that fails: others poll.
		_, _ = s.pool.Exec(ctx, "SELECT pg_notify($1, $2)", channel, s.name)
		if !pause(ctx, ringEvery) {
			return
		}
	}
}

// pause waits and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// following listens, and connects again where that fails.
func (s *Store) following(ctx context.Context, changed func(api.Repo, uint64)) {
	failing, wait := false, firstPause
	for ctx.Err() == nil {
		f := &follower{s: s, changed: changed, told: make(map[int64]int64)}
		err := f.run(ctx, func() {
			if failing {
				s.log.InfoContext(ctx, "changes by other servers are followed again")
			}
			failing, wait = false, firstPause
		})
		s.heads.trust(time.Time{})
		if ctx.Err() != nil {
			return
		}
		if !failing {
			failing = true
			s.log.WarnContext(ctx, "changes by other servers cannot be followed; every read asks the database", "error", err)
		}
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, time.Second)
	}
}

// follower is one connection that listens.
type follower struct {
	s       *Store
	changed func(api.Repo, uint64)
	conn    *pgx.Conn
	from    string          // the oldest transaction that may show itself after the last look: an xid8, or a time
	spread  bool            // over nodes, each of which numbers its transactions by itself
	looked  time.Time       // of the last look
	told    map[int64]int64 // the newest version told of each repo that is looked at again and again
}

// run follows until the connection fails or ctx ends. begun is called when
// everything works.
func (f *follower) run(ctx context.Context, begun func()) (err error) {
	if f.conn, err = pgx.ConnectConfig(ctx, f.s.pool.Config().ConnConfig); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = f.conn.Close(ctx)
	}()
	if _, err := f.conn.Exec(ctx, "SELECT pg_advisory_lock_shared("+servingLock+")"); err != nil {
		return err
	}
	if _, err := f.conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	if f.spread, err = isDistributed(ctx, f.conn); err != nil {
		return err
	}
	f.spread = f.spread || f.s.feed.spread
	if err := f.conn.QueryRow(ctx, "SELECT "+f.position()).Scan(&f.from); err != nil {
		return err
	}
	f.s.outage.note(false) // the database is back: nobody is refused because it was away
	// What was read before now may lack what was committed before now.
	f.everything(time.Now())
	begun()
	for {
		if err := f.wait(ctx); err != nil {
			return err
		}
		if time.Since(f.looked) > maxGap {
			return fmt.Errorf("did not look for %v", time.Since(f.looked).Round(time.Second))
		}
		if err := f.look(ctx); err != nil {
			return err
		}
	}
}

// wait returns when another server rings, or after a while.
func (f *follower) wait(ctx context.Context) error {
	until := time.Now().Add(pollEvery)
	for {
		waiting, cancel := context.WithDeadline(ctx, until)
		n, err := f.conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil && n.Payload == f.s.name:
			continue // ours: we know
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case waiting.Err() != nil && !f.conn.IsClosed():
			return nil
		}
		return err
	}
}

// look reads what was committed since the last look. A transaction that was under
// way then comes late; it has a number from which on we read again.
func (f *follower) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, trusted)
	defer cancel()
	at := time.Now()
	rows, err := f.conn.Query(ctx, f.query(), f.from, givenUp)
	if err != nil {
		return err
	}
	var all bool
	var seen []notice
	var n notice
	var least int64
	var next string
	_, err = pgx.ForEachRow(rows, []any{&n.repo, &n.name, &n.version, &least, &next}, func() error {
		all = all || least == anything
		seen = append(seen, n)
		if least == beside && n.version > 0 && n.repo != 0 {
			seen = append(seen, notice{n.repo, n.name, beside})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if all && next != f.from {
		f.everything(at)
	}
	f.tell(seen, next != f.from)
	f.from, f.looked = next, at
	f.s.heads.trust(at)
	return nil
}

// overlap is how far a look over several nodes goes back: as long as a commit may
// take before its outcome counts as unknown, and clocks may differ.
const overlap = "make_interval(secs => 30)"

// position is up to where a look sees everything.
func (f *follower) position() string {
	if f.spread {
		return "(clock_timestamp() - " + overlap + ")::text"
	}
	return "pg_snapshot_xmin(pg_current_snapshot())::text"
}

// query reads what was committed since a position.
func (f *follower) query() string {
	since := "tx >= $1::text::xid8"
	if f.spread {
		since = "at >= $1::text::timestamptz"
	}
	return "SELECT repo, name, max(version), min(version), " + f.position() + " FROM outbox WHERE " + since + ` AND version <> $2 GROUP BY repo, name
		UNION ALL SELECT 0, '', 0, 0, ` + f.position()
}

// everything says that anything may have changed.
func (f *follower) everything(at time.Time) {
	f.s.heads.nextEra()
	f.looked = at
	f.s.heads.trust(at)
	f.changed(api.Repo{}, 0)
}

// tell passes on what was seen. moved says that no row will be seen again.
func (f *follower) tell(seen []notice, moved bool) {
	for _, n := range seen {
		repo, err := api.ParseRepo(n.name)
		if n.repo == 0 || err != nil {
			continue
		}
		if n.version > 0 {
			if f.told[n.repo] >= n.version {
				continue
			}
			f.told[n.repo] = n.version
			f.s.heads.tell(repo, uint64(n.version))
		}
		f.changed(repo, uint64(max(n.version, 0)))
	}
	if moved && !f.spread || len(f.told) > 100_000 {
		clear(f.told)
	}
}

// tidying takes old rows out of the outbox; one server at a time is enough, but
// several do no harm.
func (s *Store) tidying(ctx context.Context) {
	for pause(ctx, time.Minute) {
		_, _ = s.pool.Exec(ctx, "DELETE FROM outbox WHERE at < clock_timestamp() - make_interval(secs => $1)", outboxAge.Seconds())
	}
}
