package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/clients"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
)

// embedded is a whole server in this process: the one behind `server`, and the
// one that `up` brings along. It listens from the moment it is made, and answers
// while Run runs.
type embedded struct {
	log      *slog.Logger
	requests *slog.Logger // of requests, where the configuration wants it
	core     *core.Core
	auth     *auth.Auth
	people   *people
	access   *access.Access
	clients  *clients.Tracker
	door     *door                           // for administrators, nil for none
	policy   *access.PolicyFile              // nil for none
	tokens   atomic.Pointer[upstream.Tokens] // of the forge, nil for none
	front    *front
	metrics  *metricsFront // nil where they are off
	cert     *certificate  // nil without TLS
	first    *server.Server
	rules    *rulesName
	feed     store.Feed   // nil where one process alone serves the store
	close    func() error // of the store, once

	backend   store.Backend
	retention atomic.Pointer[config.Retention]

	config config.Server // in effect; Reload's alone once Run runs
}

// startEmbedded opens the store in dataDir, listens on listen, and lets every
// writer retire keys, as suits a small team. sc is shared with the client of
// the same process. Errors are those of [newEmbedded].
func startEmbedded(ctx context.Context, _ *app, dataDir, listen string, sc *scanner.Scanner, log *slog.Logger) (*embedded, error) {
	c := config.Server{Listen: listen, Data: dataDir, WritersMayRetire: true}
	return newEmbedded(ctx, c.WithDefaults(), sc, log, nil)
}

// newEmbedded makes a server of a whole configuration. It holds the store's
// lock and the port until Run returns or Close is called. The error wraps
// [api.ErrConfig] for what must be mended by hand, and [api.ErrAlreadyRunning]
// when another process serves the same data. access gets a line
// for each request where c asks for that.
func newEmbedded(ctx context.Context, c config.Server, sc *scanner.Scanner, log, access *slog.Logger) (*embedded, error) {
	if err := checkExposure(c); err != nil {
		return nil, err
	}
	e := &embedded{log: log, requests: access, config: c, rules: newRulesName(sc, c.Data)}
	if c.TLSCert != "" {
		e.cert = &certificate{}
		if err := e.cert.load(c); err != nil {
			return nil, err
		}
	}
	var err error
	if e.metrics, err = newMetrics(ctx, c, log); err != nil {
		return nil, err
	}
	backend, err := openServing(ctx, c, log, e.storeMeter())
	if err != nil {
		e.metrics.close()
		return nil, err
	}
	e.close = sync.OnceValue(func() error {
		e.metrics.close()
		if err := backend.Close(); err != nil {
			return fmt.Errorf("closing the store in %q: %w", storeName(c), err)
		}
		return nil
	})
	e.backend = backend
	e.retention.Store(&c.Retention)
	if e.people, err = newPeople(backend, c, log); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.feed, _ = backend.(store.Feed)
	e.auth = auth.New(backend, auth.Options{Log: log, Accounts: e.people.accounts, Audit: auditTo(backend)})
	if err := e.newAccess(c, backend); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.clients = clients.New(clients.Options{
		Devices: backend, Log: log,
		Clean: func(ctx context.Context, by api.Actor) api.Actor { return e.core.CleanActor(ctx, by) },
	})
	o := core.Options{
		Store: backend, Policies: backend, Rescans: backend, Audits: backend, Devices: e.clients, Scrub: backend.Scrub, Scan: scanFunc(sc), Rules: sc.RuleSet, MaxEntries: c.Limits.MaxEntries,
		SearchBytes: c.Limits.SearchIndexBytes, Log: log,
	}
	if e.metrics != nil {
		o.Meter = e.metrics
	}
	e.core, err = core.New(o)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	if e.first, err = e.server(c); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	ln, err := listen(ctx, c.Listen)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.front = newFront(ln, e.tls(), log)
	e.front.linger = c.DrainDelay.Std()
	if e.metrics != nil {
		e.metrics.watch(e)
	}
	e.door = newDoor(ctx, c, log)
	return e, nil
}

// storeMeter is what the store tells of itself to, nil where metrics are off.
func (e *embedded) storeMeter() store.Meter {
	if e.metrics == nil {
		return nil
	}
	return e.metrics
}

// errAddressInUse is EADDRINUSE as Windows says it; package syscall translates it
// on no system.
const errAddressInUse = syscall.Errno(10048)

// listen opens the port.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, errAddressInUse):
		return nil, withHint(fmt.Errorf("listening on %s: another program has this port", addr), "any free port: --listen 127.0.0.1:0")
	case errors.Is(err, fs.ErrPermission):
		return nil, withHint(fmt.Errorf("%w: listening on %s: this user may not use the port", api.ErrConfig, addr), "use a port above 1023, such as --listen 127.0.0.1:8787")
	case err != nil:
		return nil, fmt.Errorf("listening on %s: %w", addr, err)
	}
	return ln, nil
}

// URL is where the server answers, with the port that it really has.
func (e *embedded) URL() string {
	scheme := "http"
	if e.cert != nil {
		scheme = "https"
	}
	return scheme + "://" + e.front.ln.Addr().String()
}

// Run answers until ctx ends, then lets requests in flight finish, closes the
// store, and returns nil.
func (e *embedded) Run(ctx context.Context) error {
	group, gctx := errgroup.WithContext(ctx)
	group.Go(func() error { return e.auth.Run(gctx) })
	group.Go(func() error { return e.access.Run(gctx) })
	group.Go(func() error { return e.front.Run(gctx, e.first) })
	group.Go(func() error { return e.clients.Run(gctx) })
	group.Go(func() error { e.serveDoor(gctx); return nil })
	group.Go(func() error { e.rescan(gctx); return nil })
	group.Go(func() error { e.retain(gctx); return nil })
	if e.feed != nil {
		group.Go(func() error { return e.core.Follow(gctx, e.feed) })
	}
	if e.cert != nil {
		group.Go(func() error { e.cert.watch(gctx, e.log); return nil })
	}
	if e.metrics != nil {
		group.Go(func() error { return e.metrics.Run(gctx) })
	}
	return errors.Join(group.Wait(), e.Close())
}

// rescan judges what is stored by the present rules, where others let it in. It
// begins a moment after the start, which is not the time to be slow.
func (e *embedded) rescan(ctx context.Context) {
	timer := time.NewTimer(rescanAfter)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
	}
	if err := e.core.Rescan(ctx, e.rules.get()); err != nil && ctx.Err() == nil {
		e.log.ErrorContext(ctx, "live entries not scanned again", "error", err)
	}
}

const rescanAfter = 2 * time.Second

// Close gives up the port and the store. Run does it by itself.
func (e *embedded) Close() error {
	if e.front != nil {
		_ = e.front.ln.Close() // closed already, where Run ran
	}
	e.door.shut()
	return e.close()
}

// server makes the HTTP side for a configuration.
func (e *embedded) server(c config.Server) (*server.Server, error) {
	proxies, err := server.ParseProxies(c.TrustedProxies)
	if err != nil {
		return nil, err
	}
	policy, err := policyOf(c)
	if err != nil {
		return nil, err
	}
	signIn, err := e.signIn(c, proxies)
	if err != nil {
		return nil, err
	}
	o := server.Options{
		Core: e.core, Auth: e.auth, Access: e.access, Clients: e.clients, Policy: policy, SignIn: signIn, SignIns: e.signIns(), Version: versionText(), TrustedProxies: proxies,
		Rate: rateOf(c.Limits.RatePerSecond), Burst: c.Limits.Burst, MaxStreams: c.Limits.Streams,
		UploadRate: rateOf(c.Limits.UploadBytesPerSecond), UploadBurst: c.Limits.UploadBurstBytes, Log: e.log,
	}
	if c.AccessLog {
		o.AccessLog = e.requests
	}
	if e.metrics != nil {
		o.Meter = e.metrics
	}
	return server.New(o)
}

// tls returns what the listener needs, nil without TLS.
func (e *embedded) tls() *tls.Config {
	if e.cert == nil {
		return nil
	}
	return e.cert.config()
}

// CreateToken makes a token and returns its secret, which cannot be had again.
// Zero expires means never. Errors are those of [auth.Auth.Create].
func (e *embedded) CreateToken(ctx context.Context, name, repoPattern string, role api.Role, expires time.Time) (auth.Token, string, error) {
	return e.auth.Create(ctx, name, repoPattern, role, expires)
}

// NewJoinCode makes a code with which one person joins repo as a writer.
func (e *embedded) NewJoinCode(ctx context.Context, repo api.Repo) (api.JoinCodeAnswer, error) {
	return e.auth.NewJoinCode(ctx, repo)
}
