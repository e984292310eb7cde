package chaos

import (
	"errors"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// errBroken is what a connection says that [Proxy.BreakAfter] broke.
var errBroken = errors.New("the connection is broken on purpose")

// wire is a connection whose bytes are kept.
type wire struct {
	net.Conn
	in, out *tape
	allow   func(n int) int // how many of n bytes may be written
	mute    atomic.Bool
	closed  func()
	once    sync.Once
}

// Read implements [net.Conn]. What comes to a mute connection is swallowed.
func (w *wire) Read(p []byte) (int, error) {
	for {
		n, err := w.Conn.Read(p)
		if !w.mute.Load() {
			w.in.add(p[:n])
			return n, err
		}
		if err != nil {
			return 0, err
		}
	}
}

// Write implements [net.Conn].
func (w *wire) Write(p []byte) (int, error) {
	if w.mute.Load() {
		return len(p), nil
	}
	allowed := w.allow(len(p))
	n, err := w.Conn.Write(p[:allowed])
	w.out.add(p[:n])
	if err == nil && allowed < len(p) {
		err = errors.Join(errBroken, w.Close())
	}
	return n, err
}

// Close implements [net.Conn].
func (w *wire) Close() error {
	w.once.Do(w.closed)
	return w.Conn.Close()
}

// reset ends the connection without a goodbye.
func (w *wire) reset() {
	if tcp, ok := w.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the close that follows says it all
	}
	_ = w.Close()
}

// tap keeps a connection's bytes from now on. To a client, no more passes than
// the budget has.
func (p *Proxy) tap(conn net.Conn, toClient bool) *wire {
	w := &wire{Conn: conn, in: new(tape), out: new(tape), allow: func(n int) int { return n }}
	if toClient {
		w.allow = p.spend
	}
	w.closed = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, w)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns[w] = struct{}{}
	p.tapes = append(p.tapes, w.in, w.out)
	return w
}

// gate is the listener that refuses connections as the mix says.
type gate struct {
	net.Listener
	p *Proxy
}

// Accept implements [net.Listener].
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		w := g.p.tap(conn, true)
		g.p.mu.Lock()
		refused := g.p.mix.refuses(g.p.random)
		g.p.mu.Unlock()
		if !refused {
			return w, nil
		}
		w.reset()
	}
}

// spend takes up to n bytes from the budget, and returns how many it had.
func (p *Proxy) spend(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.budget < 0 {
		return n
	}
	n = min(n, p.budget)
	p.budget -= n
	return n
}

// BreakAfter lets n more bytes of answers through, headers included, then breaks
// each connection of a client on which more come. A negative n mends that.
func (p *Proxy) BreakAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget = max(n, -1)
}

// Mute makes every connection that is open now carry nothing more, and closes
// none: so are peers that went away while a machine slept. New ones work.
func (p *Proxy) Mute() {
	for _, conn := range p.open() {
		conn.mute.Store(true)
	}
}

// Cut resets every connection that is open.
func (p *Proxy) Cut() {
	for _, conn := range p.open() {
		conn.reset()
	}
}

// open lists the connections of both sides.
func (p *Proxy) open() []*wire {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.conns))
}
