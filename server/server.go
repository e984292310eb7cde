package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/clients"
	"github.com/teammem/teammemd/server/core"
)

// Timeouts of connections. Streams and long polls outlive readTimeout and
// writeTimeout by moving their own deadlines.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 60 * time.Second // a body of 2 MiB at 35 KB/s
	writeTimeout  = 60 * time.Second // twice what a client waits
	idleTimeout   = 120 * time.Second
	maxHeader     = 64 << 10 // bytes; long lists of keys= travel in the first line

	defaultDrain = 10 * time.Second
)

// Options configure [New].
type Options struct {
	// Core reads and writes. Required.
	Core *core.Core
	// Auth says who is calling. Required. Its Run must run beside the server's.
	Auth *auth.Auth
	// Access says what the caller may. Its Run must run beside the server's. Default:
	// what service tokens say of themselves.
	Access *access.Access
	// Policy is what the configuration allows beyond roles.
	Policy auth.Policy
	// SignIn answers the paths of signing in; nil: there are none.
	SignIn http.Handler
	// Clients is told which checkouts come; nil: nobody is.
	Clients *clients.Tracker
	// SignIns lists and ends the sign-ins of people; nil: there are none.
	SignIns SignIns
	// Version is the program's version, shown by [api.PathVersion].
	Version string
	// TLS, when set, makes [Server.Run] speak TLS on its listener.
	TLS *tls.Config
	// TrustedProxies may name the client's address in X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// Rate and Burst limit the requests of one token, in requests a second; an
	// answer of 304 counts as none. Default: 10,000 and 50,000.
	Rate  float64
	Burst int
	// UploadRate and UploadBurst limit the bytes of bodies that one token sends, in
	// bytes a second. Default: 16 MiB and 256 MiB; at least [api.MaxBodyBytes].
	UploadRate  float64
	UploadBurst int
	// MaxStreams limits the event streams and long polls that one token holds
	// open at a time. Default: 1,000.
	MaxStreams int
	// Heartbeat is the interval of comments on idle event streams. Default:
	// [api.Heartbeat].
	Heartbeat time.Duration
	// DrainDelay keeps the listener open after readiness went off, for load
	// balancers that need the time. Default: none.
	DrainDelay time.Duration
	// DrainTime is how long requests in flight may take after that. Default: 10 s.
	DrainTime time.Duration
	// AccessLog gets one line for each request. Default: Log, at debug.
	AccessLog *slog.Logger
	// Ready says why requests should not be sent here, beside what the server knows
	// itself: an error makes [api.PathReady] say that contents cannot be decrypted.
	// Default: nothing.
	Ready func(context.Context) error
	// Meter counts what happens. Default: nobody does.
	Meter Meter
	// Log gets failures as errors. Default: discarded.
	Log *slog.Logger
}

// Server answers requests. It is an [http.Handler] by [Server.Handler].
type Server struct {
	core   *core.Core
	auth   *auth.Auth
	o      Options
	log    *slog.Logger
	routes map[string]*route
	cross  *http.CrossOriginProtection
	tokens *tokenLimits
	joins  *addressLimits
	hooks  *addressLimits // of messages with a wrong signature

	carried       sync.WaitGroup // streams that were taken over
	carrying      sync.Mutex
	carriesNoMore bool // guarded by carrying: carried is waited for

	drain    sync.Once
	draining chan struct{} // closed when a stop was asked
}

// New returns a Server. It starts nothing. The error wraps [api.ErrConfig].
func New(o Options) (*Server, error) {
	if o.Core == nil || o.Auth == nil {
		return nil, fmt.Errorf("%w: a server needs a core and an auth", api.ErrConfig)
	}
	if o.Access == nil {
		o.Access = access.New(access.Options{})
	}
	if o.Rate <= 0 {
		o.Rate = 10_000
	}
	if o.Burst <= 0 {
		o.Burst = 50_000
	}
	if o.UploadRate <= 0 {
		o.UploadRate = 16 << 20
	}
	if o.UploadBurst <= 0 {
		o.UploadBurst = 256 << 20
	}
	o.UploadBurst = max(o.UploadBurst, api.MaxBodyBytes)
	if o.MaxStreams <= 0 {
		o.MaxStreams = 1_000
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = api.Heartbeat
	}
	if o.DrainTime <= 0 {
		o.DrainTime = defaultDrain
	}
	if o.Meter == nil {
		o.Meter = unmetered{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		core: o.Core, auth: o.Auth, o: o, log: o.Log,
		cross:    http.NewCrossOriginProtection(),
		tokens:   newTokenLimits(o),
		joins:    newAddressLimits(o.TrustedProxies),
		hooks:    newAddressLimits(o.TrustedProxies),
		draining: make(chan struct{}),
	}
	s.routes = s.table()
	return s, nil
}

// Handler returns the server as a handler, for tests and for mounting.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Run serves on ln until ctx ends, and closes it. It then turns readiness off,
// tells streams to reconnect elsewhere, lets requests in flight finish for up to
// [Options.DrainTime], and returns nil.
func (s *Server) Run(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		TLSConfig:         s.o.TLS,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		// A stop must not cancel writes in flight.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	served := make(chan error, 1)
	go func() { served <- s.serveOn(srv, ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.drain.Do(func() { close(s.draining) })
	if s.o.DrainDelay > 0 {
		select {
		case err := <-served:
			return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
		case <-time.After(s.o.DrainDelay):
		}
	}
	s.stop(ctx, srv)
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", ln.Addr(), err)
	}
	return nil
}

func (s *Server) serveOn(srv *http.Server, ln net.Listener) error {
	if s.o.TLS != nil {
		return srv.ServeTLS(ln, "", "")
	}
	return srv.Serve(ln)
}

func (s *Server) stop(ctx context.Context, srv *http.Server) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.DrainTime)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		s.log.WarnContext(ctx, "requests were cut off by the stop", "error", err)
		if err := srv.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.WarnContext(ctx, "closing connections failed", "error", err)
		}
	}
	s.carryNoMore()
	ended := make(chan struct{})
	go func() { s.carried.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.WarnContext(ctx, "streams were left by the stop")
	}
}

func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}
