package chaos

import (
	"context"
	"sync"
)

// Held is a request that the proxy keeps from the server, as a network does that
// is slow for one of two people. Its methods may be called from any goroutine.
type Held struct {
	came, free chan struct{}
	once       sync.Once
}

// Hold keeps the next request that matches from the server until it is released;
// other requests pass. The client waits, and may give up.
func (p *Proxy) Hold(match func(Request) bool) *Held {
	held := &Held{came: make(chan struct{}), free: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.once = append(p.once, promise{match: match, held: held})
	return held
}

// Came is closed when the request has come.
func (h *Held) Came() <-chan struct{} { return h.came }

// Release lets the request through, now or when it comes.
func (h *Held) Release() { h.once.Do(func() { close(h.free) }) }

// wait keeps a request until it is released; false when the client has left. It
// is for the one request that is held, and nothing to the others (nil).
func (h *Held) wait(ctx context.Context) bool {
	if h == nil {
		return true
	}
	close(h.came)
	select {
	case <-h.free:
		return true
	case <-ctx.Done():
		return false
	}
}
