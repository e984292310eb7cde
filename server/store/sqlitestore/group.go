package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var (
	errNotServing = errors.New("the store was not opened for serving: only credentials may be changed")
	errAborted    = errors.New("the goroutine that was writing ended")
)

// maxGroup bounds the updates that one transaction commits.
const maxGroup = 256

// update is one call of [Store.Update] on its way. Whoever takes it out of the
// queue owns it until done is closed.
type update struct {
	ctx    context.Context
	repo   api.Repo
	decide func(store.Tx) (store.Change, error)

	head *store.Head
	err  error
	done chan struct{}
}

// answered reports whether the update's call may return.
func (u *update) answered() bool {
	select {
	case <-u.done:
		return true
	default:
		return false
	}
}

// answerWith sets what the call will return.
func (u *update) answerWith(head *store.Head, err error) { u.head, u.err = head, err }

// fail replaces what was decided: nothing was written.
func (u *update) fail(err error) {
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultFull {
		err = fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	u.head, u.err = nil, fmt.Errorf("writing to %q: %w", u.repo, err)
}

// queue holds the updates that nobody writes yet. Each has a caller who waits
// for its turn to write, so none is stranded, whoever leaves.
type queue struct {
	mu      sync.Mutex
	waiting []*update // guarded by mu
}

func (q *queue) add(u *update) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, u)
}

// take removes the oldest updates, at most maxGroup.
func (q *queue) take() []*update {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), maxGroup)
	group := slices.Clone(q.waiting[:n])
	q.waiting = slices.Delete(q.waiting, 0, n)
	return group
}

// withdraw removes u and reports whether it was still there.
func (q *queue) withdraw(u *update) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.waiting, u)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// Update changes one repo. Whoever comes first writes for everybody who queued
// meanwhile; the others only wait. When ctx ends before decide was called,
// nothing is changed and the answer is ctx's error; later than that it has no
// effect. Waiting for another process that changes credentials ends after a few
// seconds, with an error and nothing changed.
func (s *Store) Update(ctx context.Context, repo api.Repo, decide func(store.Tx) (store.Change, error)) (*store.Head, error) {
	u := &update{ctx: ctx, repo: repo, decide: decide, done: make(chan struct{})}
	switch {
	case s.lock == nil:
		u.fail(errNotServing)
		return nil, u.err
	case repo.IsZero():
		return nil, errors.New("writing: no repo named")
	case ctx.Err() != nil:
		u.fail(ctx.Err())
		return nil, u.err
	}
	s.queue.add(u)
	for {
		select {
		case <-u.done:
			return u.head, u.err
		case <-ctx.Done():
			if s.queue.withdraw(u) {
				u.fail(ctx.Err())
				return nil, u.err
			}
			<-u.done
			return u.head, u.err
		case s.turn <- struct{}{}:
			s.lead(u)
		}
	}
}

// lead writes one group, unless somebody wrote u meanwhile. The turn is ours.
func (s *Store) lead(u *update) {
	defer func() { <-s.turn }()
	if !u.answered() {
		s.commitGroup(s.queue.take())
	}
}

// commitGroup decides and commits a group, and answers every update in it. When
// the database refuses a group, each of its updates gets a transaction of its
// own, so that one cannot fail the others.
func (s *Store) commitGroup(group []*update) {
	defer func() { // nothing is left, unless a decide ended the goroutine
		for _, u := range group {
			if !u.answered() {
				u.fail(errAborted)
				close(u.done)
			}
		}
	}()
	began, err := s.tryCommit(group)
	if err == nil || !began || len(group) == 1 {
		answer(group, err)
		return
	}
	for i := range group {
		began, err := s.tryCommit(group[i : i+1])
		if err != nil && !began {
			answer(group[i:], err)
			return
		}
		answer(group[i:i+1], err)
	}
}

// answer lets the calls of a group return. err is the database's; it outranks
// what was decided, because nothing was written.
func answer(group []*update, err error) {
	for _, u := range group {
		if err != nil {
			u.fail(err)
		}
		close(u.done)
	}
}

// tryCommit runs one transaction. The heads it makes become visible only after
// the commit.
func (s *Store) tryCommit(group []*update) (began bool, err error) {
	if s.closed {
		return false, errClosed
	}
	fresh := make(map[api.Repo]*repoRow)
	start := time.Now()
	began, err = s.commit(func() error {
		for _, u := range group {
			if err := s.apply(u, fresh); err != nil {
				return err
			}
		}
		return nil
	})
	s.meter.Committed(len(group), time.Since(start), err == nil)
	for repo, row := range fresh {
		if err != nil {
			s.heads.forget(repo) // the outcome is unknown: read it again
			continue
		}
		s.heads.publish(repo, row)
	}
	return began, err
}
