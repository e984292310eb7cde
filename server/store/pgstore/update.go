package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var (
	errDecide  = errors.New("deciding about a change failed; this is a bug")
	errOutrun  = errors.New("other servers were faster every time")
	errNoNames = errors.New("writing: no repo named")
)

// boldly is how often an update tries without the repo's lock. It decides on the
// head in memory and commits in one statement that counts only if the repo still
// has that version. Where another server keeps being faster, the lock is taken.
const boldly = 2

// maxTries bounds the tries of one update. With the lock the first succeeds, but
// for a repo that is given another name meanwhile.
const maxTries = 20

// Update changes one repo. The updates of this process go one after another;
// those of other processes are met by the version in the repo's row. When ctx
// ends before decide was called, nothing is changed.
func (s *Store) Update(ctx context.Context, repo api.Repo, decide func(store.Tx) (store.Change, error)) (*store.Head, error) {
	switch {
	case repo.IsZero():
		return nil, errNoNames
	case !s.serve:
		return nil, fmt.Errorf("writing to %q: %w", repo, errNotServing)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("writing to %q: %w", repo, ctx.Err())
	case !s.enter():
		return nil, fmt.Errorf("writing to %q: %w", repo, errClosed)
	}
	defer s.active.Done()
	release, err := s.lines.take(ctx, repo, s.closing)
	if err != nil {
		return nil, fmt.Errorf("writing to %q: %w", repo, err)
	}
	defer release()
	u := &update{s: s, repo: repo, decide: decide}
	if err := orFull(u.run(ctx)); err != nil {
		return nil, fmt.Errorf("writing to %q: %w", repo, err)
	}
	return u.head, u.refusal
}

// update is one call of [Store.Update] that has its turn.
type update struct {
	s      *Store
	repo   api.Repo
	decide func(store.Tx) (store.Change, error)

	head    *store.Head // after the change
	refusal error       // decide's own
}

// run tries until the update is committed, or has nothing to commit. Its error is
// the database's.
func (u *update) run(ctx context.Context) error {
	for try := range maxTries {
		settled, err := u.try(ctx, try)
		if err != nil || settled {
			return err
		}
	}
	return errOutrun
}

func (u *update) try(ctx context.Context, try int) (settled bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if try >= boldly {
		return u.withLock(ctx)
	}
	era := u.s.heads.now()
	row, current := u.s.heads.get(u.repo)
	if !current || try > 0 {
		if row, err = u.s.refreshOrCreate(ctx, u.repo); err != nil {
			return false, err
		}
		current = false
	}
	change, settled, err := u.ask(ctx, u.s.pool, row)
	switch {
	case err != nil:
		return false, err
	case settled && current:
		// Nothing to commit, by a head that may be old: what is refused today may be
		// right by the newest.
		return u.confirm(ctx, row)
	case settled:
		return true, nil
	}
	return u.apply(ctx, row, change, era)
}

// ask lets decide judge. settled says that there is nothing to commit. The error
// is the database's; decide's is kept.
func (u *update) ask(ctx context.Context, q querier, r *row) (c store.Change, settled bool, err error) {
	u.head, u.refusal = r.head, nil
	view := &tx{ctx: context.WithoutCancel(ctx), q: q, row: r, s: u.s}
	c, err = decideSafely(u.decide, view)
	switch {
	case view.err != nil:
		return c, false, view.err
	case err != nil:
		u.refusal = err
		return c, true, nil //nolint:nilerr // the caller answers with it
	}
	c.At = c.At.Truncate(time.Millisecond).UTC()
	if err := c.Check(r.head); err != nil {
		u.refusal = err
		return c, true, nil //nolint:nilerr // likewise
	}
	return c, r.head.Next(c) == r.head, nil
}

// confirm reports whether row is the repo's newest.
func (u *update) confirm(ctx context.Context, r *row) (bool, error) {
	newest, err := u.s.refreshOrCreate(ctx, u.repo)
	if err != nil {
		return false, err
	}
	return newest.id == r.id && newest.head.Version == r.head.Version && newest.head.Epoch == r.head.Epoch, nil
}

// apply commits a change on top of a row by one statement.
func (u *update) apply(ctx context.Context, r *row, c store.Change, era uint64) (settled bool, err error) {
	key, err := u.s.sealing(ctx, r.id, r.head.Version+1)
	if err != nil {
		return false, err
	}
	w, err := newWrite(r, c, key)
	if err != nil {
		u.refusal = err
		return true, nil
	}
	err = retry(ctx, u.s.patience, func() error {
		w.change = newChange()
		var lost bool
		begun := time.Now()
		lost, settled, err = u.s.applyOnce(ctx, w)
		u.s.meter.Committed(1, time.Since(begun), err == nil)
		if !lost {
			return err
		}
		version, done, lookErr := u.s.look(ctx, w.change, r.id, err)
		if lookErr != nil {
			u.s.heads.forget(u.repo)
			return lookErr
		}
		settled = done && version > 0
		if done {
			return nil
		}
		return err // given up: the same again
	})
	if err != nil {
		return false, err
	}
	if !settled {
		return false, u.s.outdated(ctx, r.id, key)
	}
	u.committed(&row{id: r.id, head: w.next}, era)
	return true, nil
}

func (u *update) committed(r *row, era uint64) {
	u.s.heads.publish(u.repo, r, era)
	u.s.ring()
	u.head = r.head
}

// applyOnce runs the statement. lost says that its outcome is not known; applied
// is false where the repo has another version by now.
func (s *Store) applyOnce(ctx context.Context, w *write) (lost, applied bool, err error) {
	if s.isClosed() && ctx.Err() != nil {
		return false, false, errClosed
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, false, err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	hadWarning(conn.Conn())
	err = conn.QueryRow(ctx, applyStatement, w.args()...).Scan(&applied)
	switch {
	case err == nil && hadWarning(conn.Conn()):
		return true, false, errNoStandby
	case err == nil:
		return false, applied, nil
	}
	return !refused(err), false, err
}

// withLock decides and commits in a transaction that has the repo's row locked.
func (u *update) withLock(ctx context.Context) (settled bool, err error) {
	r, err := u.s.refreshOrCreate(ctx, u.repo)
	if err != nil {
		return false, err
	}
	key, err := u.s.sealing(ctx, r.id, r.head.Version+1) // it may need the row
	if err != nil {
		return false, err
	}
	conn, err := u.s.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer u.s.rollback(ctx, tx) // does nothing after a commit
	if _, err := tx.Exec(ctx, "SELECT FROM repos WHERE repo = $1 FOR NO KEY UPDATE", r.id); err != nil {
		return false, err
	}
	era := u.s.heads.begin(u.repo)
	r, err = loadSince(ctx, tx, u.repo, r)
	u.s.heads.end(u.repo, r, era)
	if errors.Is(err, store.ErrNoRepo) {
		u.s.heads.forget(u.repo)
		return false, nil // it has another name by now: look again
	}
	if err != nil {
		return false, err
	}
	c, settled, err := u.ask(ctx, tx, r)
	if err != nil || settled {
		return settled, err
	}
	w, err := newWrite(r, c, key)
	if err != nil {
		u.refusal = err
		return true, nil
	}
	var applied bool
	w.change = newChange()
	if err := tx.QueryRow(ctx, applyStatement, w.args()...).Scan(&applied); err != nil {
		return false, err
	}
	if !applied {
		u.s.seals.ring.Doubt(r.id)
		return false, nil
	}
	begun := time.Now()
	lost, err := u.s.finish(ctx, conn, tx)
	u.s.meter.Committed(1, time.Since(begun), err == nil)
	if lost {
		var done bool
		if _, done, err = u.s.look(ctx, w.change, r.id, err); err == nil && !done {
			return false, nil // it was given up: again
		}
	}
	if err != nil {
		return false, err
	}
	u.committed(&row{id: r.id, head: w.next}, era)
	return true, nil
}

// refreshOrCreate is refresh for a repo that may not be there yet.
func (s *Store) refreshOrCreate(ctx context.Context, repo api.Repo) (*row, error) {
	r, err := s.refresh(ctx, repo)
	if !errors.Is(err, store.ErrNoRepo) {
		return r, err
	}
	if err := s.create(ctx, repo); err != nil {
		return nil, err
	}
	return s.refresh(ctx, repo)
}

// create makes the rows of a repo, unless they are there. Its two statements are
// two transactions: the tables are apart where the database is distributed, and
// a name without a row is completed by the next who comes. [store.ErrRenamed] for
// a name that was given up.
func (s *Store) create(ctx context.Context, repo api.Repo) error {
	return retry(ctx, s.patience, func() error {
		name := repo.String()
		if _, err := s.pool.Exec(ctx, "INSERT INTO repo_names (name, repo) VALUES ($1, $2) ON CONFLICT DO NOTHING", name, newRepoID()); err != nil {
			return err
		}
		id, err := repoID(ctx, s.pool, repo)
		if err != nil {
			return err
		}
		if _, err := s.pool.Exec(ctx, "INSERT INTO repos (repo, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, name); err != nil {
			return err
		}
		if _, err := namedID(ctx, s.pool, repo); errors.Is(err, store.ErrNoRepo) {
			return store.ErrRenamed
		}
		return nil
	})
}

// newRepoID draws a repo's number. Two of a million repos are alike once in ten
// million installations, and the second is then refused by the primary key.
func newRepoID() int64 { return rand.Int64N(1<<63-2) + 1 }

// decideSafely turns a panic of decide into an error.
func decideSafely(decide func(store.Tx) (store.Change, error), t store.Tx) (change store.Change, err error) {
	defer func() {
		if recover() != nil {
			err = errDecide // what it said may quote an entry
		}
	}()
	return decide(t)
}

// tx is what decide may look at.
type tx struct {
	ctx context.Context //nolint:containedctx // decide has none to give
	q   querier
	row *row
	s   *Store
	err error // of the database
}

// Head returns the state that the change will build on.
func (t *tx) Head() *store.Head { return t.row.head }

// Had reports whether a version of key ever had this content.
func (t *tx) Had(key api.Key, sum api.Checksum) (had bool, err error) {
	ask := func(q querier) error {
		return q.QueryRow(t.ctx, "SELECT EXISTS (SELECT FROM versions WHERE repo = $1 AND key = $2 AND sum = $3)", t.row.id, key.String(), sum[:]).Scan(&had)
	}
	if _, locked := t.q.(pgx.Tx); locked {
		err = ask(t.q)
	} else {
		err = t.s.read(t.ctx, ask)
	}
	t.err = err
	return had, err
}
