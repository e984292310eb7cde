package main

import "sync"

// bell tells whoever waits that something may have changed. The zero value is
// ready. Safe for concurrent use.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // nil while nobody waits; guarded by mu
}

// next returns a channel that the next ring closes.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

// ring wakes those who wait. It costs next to nothing when nobody does.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
