package sqlitestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// update is one call of [Store.Update] on its way.
type update struct {
	ctx    context.Context
	repo   api.Repo
	decide func(store.Tx) (store.Change, error)

	// Set by the writer before done is closed.
	head *store.Head
	err  error
	done chan struct{}
}

// Update changes one repo. Whoever gets the turn commits for everybody who
// queued meanwhile; the others only wait. A context that ends while the update
// still queues withdraws it, and nothing is changed; later it has no effect.
func (s *Store) Update(ctx context.Context, repo api.Repo, decide func(store.Tx) (store.Change, error)) (*store.Head, error) {
	u := &update{ctx: ctx, repo: repo, decide: decide, done: make(chan struct{})}
	if err := s.enqueue(u); err != nil {
		return nil, fmt.Errorf("writing to %q: %w", repo, err)
	}
	cancelled := ctx.Done()
	for {
		select {
		case <-u.done:
			return u.head, u.err
		case s.turn <- struct{}{}:
			s.takeTurn()
		case <-cancelled:
			if s.withdraw(u) {
				return nil, fmt.Errorf("writing to %q: %w", repo, ctx.Err())
			}
			cancelled = nil // it is being decided: wait for what comes of it
		}
	}
}

func (s *Store) takeTurn() {
	defer func() { <-s.turn }()
	s.commitGroup()
}

func (s *Store) enqueue(u *update) error {
	if s.heads == nil {
		return errNotServing
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return errClosed
	}
	s.queue = append(s.queue, u)
	return nil
}

// dequeue returns the update that waited longest, nil if there is none.
func (s *Store) dequeue() *update {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil
	}
	u := s.queue[0]
	s.queue = slices.Delete(s.queue, 0, 1)
	return u
}

// withdraw takes u out of the queue, unless the writer has it already.
func (s *Store) withdraw(u *update) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, u)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return true
}
