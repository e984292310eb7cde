package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/server"
)

// Timeouts of connections. Streams and long polls move their own deadlines.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 60 * time.Second // 2 MiB at 35 KB/s
	answerTimeout = 60 * time.Second // twice what a client waits
	idleTimeout   = 120 * time.Second
	maxHeader     = 64 << 10 // bytes; long lists of keys= travel in the first line

	// drainTime is how long requests in flight may take after a stop was asked,
	// below the 30 s that the unit allows.
	drainTime = 10 * time.Second
)

// front holds the listener and its connections for servers that come and go: a
// new configuration takes over between two requests, and no connection notices.
type front struct {
	ln   net.Listener
	tls  *tls.Config // nil without TLS
	log  *slog.Logger
	now  atomic.Pointer[http.Handler]
	next chan *server.Server

	// linger is how long the listener stays open after a stop was asked, while
	// readiness is off. Set before Run.
	linger time.Duration
}

func newFront(ln net.Listener, tls *tls.Config, log *slog.Logger) *front {
	return &front{ln: ln, tls: tls, log: log, next: make(chan *server.Server)}
}

// ServeHTTP lets the server of the moment answer.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) { (*f.now.Load()).ServeHTTP(w, r) }

// Run answers by first, and by those that swap brings, until ctx ends. It then
// goes on for linger, with readiness off, closes the listener, lets requests in flight finish for up to
// drainTime, and returns nil.
func (f *front) Run(ctx context.Context, first *server.Server) error {
	group, ctx := errgroup.WithContext(ctx)
	leave := f.enter(ctx, group, first)
	group.Go(func() error { return f.serve(ctx) })
	group.Go(func() error {
		for {
			select {
			case <-ctx.Done():
				leave()
				return nil
			case next := <-f.next:
				left := leave
				leave = f.enter(ctx, group, next)
				left()
			}
		}
	})
	return group.Wait()
}

// enter lets s answer from now on. The function it returns tells those who
// still follow a stream of s to connect again; other requests finish as they
// would.
func (f *front) enter(ctx context.Context, group *errgroup.Group, s *server.Server) context.CancelFunc {
	handler := s.Handler()
	f.now.Store(&handler)
	ctx, leave := context.WithCancel(ctx)
	group.Go(func() error { return s.Run(ctx, &quiet{addr: f.ln.Addr(), closed: make(chan struct{})}) })
	return leave
}

// swap lets s take over from the server that answers now.
func (f *front) swap(ctx context.Context, s *server.Server) error {
	handler := s.Handler()
	f.now.Store(&handler) // whoever asks after swap returned asks s
	select {
	case f.next <- s:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("replacing the server: %w", ctx.Err())
	}
}

func (f *front) serve(ctx context.Context) error {
	srv := &http.Server{
		Handler:           f,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         f.tls,
		ErrorLog:          slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
		// A stop must not cancel writes in flight.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	served := make(chan error, 1)
	go func() { served <- f.serveOn(srv) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving on %s: %w", f.ln.Addr(), err)
	case <-ctx.Done():
	}
	select {
	case err := <-served:
		return fmt.Errorf("serving on %s: %w", f.ln.Addr(), err)
	case <-time.After(f.linger):
	}
	f.drain(ctx, srv)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", f.ln.Addr(), err)
	}
	return nil
}

func (f *front) serveOn(srv *http.Server) error {
	if f.tls != nil {
		return srv.ServeTLS(f.ln, "", "")
	}
	return srv.Serve(f.ln)
}

func (f *front) drain(ctx context.Context, srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := srv.Shutdown(ctx)
	if err == nil {
		return
	}
	f.log.WarnContext(ctx, "requests were cut off by the stop", "error", err)
	if err := srv.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		f.log.WarnContext(ctx, "closing connections failed", "error", err)
	}
}

// quiet is a listener to which nobody comes: the connections are front's.
type quiet struct {
	addr   net.Addr
	once   sync.Once
	closed chan struct{}
}

// Accept implements [net.Listener]. It waits for Close.
func (q *quiet) Accept() (net.Conn, error) {
	<-q.closed
	return nil, net.ErrClosed
}

// Close implements [net.Listener].
func (q *quiet) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

// Addr implements [net.Listener].
func (q *quiet) Addr() net.Addr { return q.addr }
