package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// Options configure a [Proxy]. Target is required.
type Options struct {
	// Target is the server's URL, without a path.
	Target string
	// Seed decides which requests meet a fault.
	Seed uint64
	// Slowest bounds a delay and the time that a trickled answer takes. Default
	// 200 ms.
	Slowest time.Duration
	// RetryAfter is what 429 and 503 ask for, in whole seconds. Default 1 s.
	RetryAfter time.Duration
}

// Proxy stands between clients and a server. Its methods may be called from any
// goroutine.
type Proxy struct {
	opts Options
	ln   net.Listener
	out  *http.Transport

	mu       sync.Mutex
	target   *url.URL           // guarded by mu
	random   *rand.Rand         // guarded by mu
	mix      Mix                // guarded by mu
	once     []promise          // guarded by mu
	requests []*Request         // guarded by mu
	tapes    []*tape            // guarded by mu
	conns    map[*wire]struct{} // guarded by mu
	budget   int                // bytes of answers until clients' connections break, -1 for all; guarded by mu
	// changed is closed when the faults change: what is silent then ends.
	changed chan struct{} // guarded by mu
	// hush is not nil while nothing may pass; it is closed when that ends.
	hush chan struct{} // guarded by mu
}

// promise is a fault for the next request that matches, or for each of them.
type promise struct {
	match func(Request) bool
	fault Fault
	again bool
	held  *Held // nil unless the request is to wait
}

// New listens on a free port of the loopback interface. Clients can connect from
// then on; they are served when [Proxy.Run] runs.
func New(opts Options) (*Proxy, error) {
	if opts.Slowest <= 0 {
		opts.Slowest = 200 * time.Millisecond
	}
	if opts.RetryAfter <= 0 {
		opts.RetryAfter = time.Second
	}
	target, err := url.Parse(opts.Target)
	if err != nil {
		return nil, fmt.Errorf("reading the target: %w", err)
	}
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the proxy's port: %w", err)
	}
	p := &Proxy{
		opts: opts, target: target, ln: ln,
		random:  rand.New(rand.NewPCG(opts.Seed, 7)),
		conns:   make(map[*wire]struct{}),
		budget:  -1,
		changed: make(chan struct{}),
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	p.out = &http.Transport{
		// One connection for each request: what a client's connection suffers
		// must not depend on another's.
		DisableKeepAlives: true, DisableCompression: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return p.tap(conn, false), nil
		},
	}
	return p, nil
}

// URL is where clients connect.
func (p *Proxy) URL() string { return "http://" + p.ln.Addr().String() }

// Start is [New] and [Proxy.Run] until the test ends.
func Start(tb testing.TB, opts Options) *Proxy {
	tb.Helper()
	p, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Errorf("the proxy: %v", err)
		}
	})
	return p
}

// Run serves until ctx ends. It returns nil on a clean stop, when every
// connection is closed.
func (p *Proxy) Run(ctx context.Context) error {
	server := &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() {
		_ = p.ln.Close()
		p.Set(nil)
		p.Hush(false)
		_ = server.Close()
		p.Cut()
	})()
	err := server.Serve(&gate{p.ln, p})
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving as a proxy: %w", err)
}

// Retarget sends the requests from now on to another server.
func (p *Proxy) Retarget(target string) error {
	to, err := url.Parse(target)
	if err != nil {
		return fmt.Errorf("reading the target: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = to
	return nil
}

// Set changes the faults, nil for none. Whoever was kept waiting in silence is
// reset.
func (p *Proxy) Set(mix Mix) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mix = mix
	close(p.changed)
	p.changed = make(chan struct{})
}

// Once makes the next request that matches meet fault, whatever the mix says.
func (p *Proxy) Once(match func(Request) bool, fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.once = append(p.once, promise{match: match, fault: fault})
}

// Always makes every request that matches from now on meet fault, unless a
// promise that was made before takes it.
func (p *Proxy) Always(match func(Request) bool, fault Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.once = append(p.once, promise{match: match, fault: fault, again: true})
}

// Hush stops every byte in both directions, also of streams that are open, until
// it is called with false: connections are accepted and stay open.
func (p *Proxy) Hush(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case silent && p.hush == nil:
		p.hush = make(chan struct{})
	case !silent && p.hush != nil:
		close(p.hush)
		p.hush = nil
	}
}

// Requests returns all requests so far, in the order in which they came.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Request, len(p.requests))
	for i, r := range p.requests {
		all[i] = *r
	}
	return all
}

// Wire returns every byte that passed on either side, one connection and
// direction after the other.
func (p *Proxy) Wire() []byte {
	p.mu.Lock()
	tapes := slices.Clone(p.tapes)
	p.mu.Unlock()
	var all []byte
	for _, t := range tapes {
		all = append(append(all, t.bytes()...), '\n')
	}
	return all
}
