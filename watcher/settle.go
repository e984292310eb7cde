package watcher

import (
	"context"
	"sync"
	"time"
)

// stage debounces: touches in, raw and settled hints out. Touching never
// blocks, however slow the readers are.
type stage struct {
	quiet, max time.Duration
	raw        chan Hint
	settled    chan Hint
	wake       chan struct{} // one slot

	mu    sync.Mutex // guards what follows
	burst map[string]*burst
	fresh outbox // for raw
	ready outbox // for settled
}

// burst is what was touched in one root and has not settled.
type burst struct {
	Debounce
	full bool
}

func newStage(quiet, longest time.Duration) *stage {
	return &stage{
		quiet: quiet, max: longest,
		raw: make(chan Hint), settled: make(chan Hint), wake: make(chan struct{}, 1),
		burst: map[string]*burst{},
	}
}

// touch records that a root changed.
func (s *stage) touch(id string, full bool) {
	s.mu.Lock()
	b := s.burst[id]
	if b == nil {
		b = &burst{Debounce: Debounce{Quiet: s.quiet, Max: s.max}}
		s.burst[id] = b
	}
	b.Touch(time.Now())
	b.full = b.full || full
	s.fresh.put(Hint{ID: id, Full: full})
	s.mu.Unlock()
	signal(s.wake)
}

// forget drops whatever is known of a root.
func (s *stage) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.burst, id)
	s.fresh.drop(id)
	s.ready.drop(id)
}

// pending reports whether a root was touched and its settled hint not taken.
func (s *stage) pending(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.burst[id]
	return b != nil && b.Pending() || s.ready.has(id)
}

// run hands hints over until ctx ends, then closes both channels.
func (s *stage) run(ctx context.Context) {
	defer close(s.raw)
	defer close(s.settled)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		fresh, ready, wait := s.turn(time.Now())
		// A nil channel is never chosen.
		var raw, settled chan Hint
		if fresh != nil {
			raw = s.raw
		}
		if ready != nil {
			settled = s.settled
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		case raw <- value(fresh):
			s.took(&s.fresh, *fresh)
		case settled <- value(ready):
			s.took(&s.ready, *ready)
		}
	}
}

func value(h *Hint) Hint {
	if h == nil {
		return Hint{}
	}
	return *h
}

func (s *stage) took(from *outbox, h Hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from.taken(h)
}

// turn moves what has settled, and returns what to hand over next and how long
// to wait for more to settle.
func (s *stage) turn(now time.Time) (fresh, ready *Hint, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait = time.Hour
	for id, b := range s.burst {
		if !b.Pending() {
			continue
		}
		due, left := b.Due(now)
		if !due {
			wait = min(wait, left)
			continue
		}
		s.ready.put(Hint{id, b.full, b.Busy(now)})
		b.Clear(now)
		b.full = false
	}
	if h, ok := s.fresh.head(); ok {
		fresh = &h
	}
	if h, ok := s.ready.head(); ok {
		ready = &h
	}
	return fresh, ready, wait
}

// signal fills a channel of one slot.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
