package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/server"
)

// front serves one listener through one server after another, so that a new
// configuration takes over without a refused connection: the server that takes
// over accepts before the one that leaves drains.
type front struct {
	ln    net.Listener
	conns chan accepted
	next  chan *server.Server
}

// accepted is one answer of the listener.
type accepted struct {
	conn net.Conn
	err  error
}

func newFront(ln net.Listener) *front {
	return &front{ln: ln, conns: make(chan accepted), next: make(chan *server.Server)}
}

// Run serves through first, and through those that come by swap, until ctx ends
// and the last request in flight is done. It closes the listener.
func (f *front) Run(ctx context.Context, first *server.Server) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		if err := f.ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("closing %s: %w", f.ln.Addr(), err)
		}
		return nil
	})
	group.Go(func() error { f.accept(ctx); return nil })
	group.Go(func() error {
		leave := f.start(ctx, group, first)
		for {
			select {
			case <-ctx.Done():
				leave()
				return nil
			case next := <-f.next:
				left := leave
				leave = f.start(ctx, group, next)
				left()
			}
		}
	})
	return group.Wait()
}

// start serves through s until the function it returns is called.
func (f *front) start(ctx context.Context, group *errgroup.Group, s *server.Server) context.CancelFunc {
	ctx, leave := context.WithCancel(ctx)
	group.Go(func() error { return s.Run(ctx, &share{front: f, closed: make(chan struct{})}) })
	return leave
}

// swap lets s take over from the server that serves now.
func (f *front) swap(ctx context.Context, s *server.Server) error {
	select {
	case f.next <- s:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("replacing the server: %w", ctx.Err())
	}
}

// accept hands connections to whichever server asks first. What the listener
// says besides is the servers' to judge: they wait after passing failures.
func (f *front) accept(ctx context.Context) {
	for {
		conn, err := f.ln.Accept()
		select {
		case f.conns <- accepted{conn, err}:
		case <-ctx.Done():
			if conn != nil {
				_ = conn.Close() // nobody is left to answer
			}
			return
		}
	}
}

// share is one server's part of the listener.
type share struct {
	*front
	once   sync.Once
	closed chan struct{}
}

// Accept implements [net.Listener].
func (s *share) Accept() (net.Conn, error) {
	select {
	case got := <-s.conns:
		return got.conn, got.err
	case <-s.closed:
		return nil, net.ErrClosed
	}
}

// Close ends this server's part; the listener stays open.
func (s *share) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr implements [net.Listener].
func (s *share) Addr() net.Addr { return s.ln.Addr() }
