package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
)

func (a *app) daemonCommand() *cobra.Command {
	var stop bool
	cmd := &cobra.Command{
		Use:   "daemon",
		Short: "Keep all registered roots in step",
		Long: "Keep all registered roots in step until SIGTERM or SIGINT, which push what is\n" +
			"still here. SIGHUP reads the configuration and the roots again.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := a.machine()
			if err != nil {
				return err
			}
			if stop {
				return a.stopDaemon(cmd.Context(), m)
			}
			log, setLevel := a.clientLog(m.client.Config)
			d, err := a.newDaemon(m, scanner.New(scanner.Options{}), log)
			if err != nil {
				if errors.Is(err, api.ErrAlreadyRunning) {
					err = withHint(err, "it keeps all registered roots in step: see 'teammemd status'")
				}
				return err
			}
			d.setLevel = setLevel
			return errors.Join(d.run(cmd.Context()), d.lease.Release())
		},
	}
	cmd.Flags().BoolVar(&stop, "stop", false, "end the one that runs, also one of 'up --detach', after its last push")
	return cmd
}

// stopWithin bounds how long a daemon may take for its last push and its end.
const stopWithin = 20 * time.Second

// stopDaemon asks the running daemon to end and waits until it has.
func (a *app) stopDaemon(ctx context.Context, m machine) error {
	client, err := m.daemon(ctx)
	if errors.Is(err, control.ErrNotRunning) {
		a.sayf("teammemd: no daemon is running\n")
		return a.saidStopped(false)
	}
	if err != nil {
		return err
	}
	if err := client.Stop(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, stopWithin)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		lease, err := control.Lock(m.paths.Lock())
		if err == nil {
			// Its lock is free: it has ended.
			return errors.Join(lease.Release(), a.saidStopped(true))
		}
		if !errors.Is(err, api.ErrAlreadyRunning) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the daemon was asked to end and still runs after %s: %w", stopWithin, err)
		case <-ticker.C:
		}
	}
}

// saidStopped prints whether there was a daemon to stop, for scripts.
func (a *app) saidStopped(stopped bool) error {
	if !a.json {
		return nil
	}
	return a.printJSON(map[string]any{"schema": schema, "stopped": stopped})
}

// daemon runs the engines of all registered roots, the watcher that hints them,
// and the control socket.
type daemon struct {
	app      *app
	log      *slog.Logger
	setLevel func(level string) // of log
	scanner  *scanner.Scanner
	lease    *control.Lease
	socket   *control.Server
	ready    chan struct{}      // closed when the roots were started
	changed  bell               // rings when the status may have changed
	repause  chan chan struct{} // asks for a look at the pauses; what is sent is closed after it
	over     context.Context    // done when run has ended
	ended    context.CancelFunc

	reloading sync.Mutex    // one reload at a time
	closing   bool          // no more reloads; guarded by reloading
	client    config.Client // in force; guarded by reloading

	mu    sync.Mutex
	roots map[string]*liveRoot // guarded by mu
	fault map[string]rootFault // roots that could not be opened; guarded by mu
	watch *watch               // nil before the first Reload; guarded by mu
	ctx   context.Context      // of run; guarded by mu
	group *errgroup.Group      // of run; guarded by mu
	aside *errgroup.Group      // what outlives the engines' last push; guarded by mu
	wide  context.Context      // of aside; guarded by mu
	stop  context.CancelFunc   // ends run; guarded by mu
}

// newDaemon takes the daemon's lock and its socket. [api.ErrAlreadyRunning] when
// another process of this user has them.
func (a *app) newDaemon(m machine, sc *scanner.Scanner, log *slog.Logger) (*daemon, error) {
	lease, err := control.Lock(m.paths.Lock())
	if err != nil {
		return nil, err
	}
	d := &daemon{
		app: a, log: log, setLevel: func(string) {}, scanner: sc, lease: lease,
		ready: make(chan struct{}), repause: make(chan chan struct{}),
		roots: make(map[string]*liveRoot),
		fault: make(map[string]rootFault),
	}
	d.over, d.ended = context.WithCancel(context.Background())
	d.socket = control.NewServer(control.Options{Handler: d, Logger: log, Note: m.paths.SocketNote(), Changes: d.changed.next})
	if err := d.socket.Listen(lease, m.paths.Socket()); err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return d, nil
}

// run keeps everything going until ctx ends. The lock stays the caller's to
// release, after whatever else belongs to the daemon has ended.
func (d *daemon) run(ctx context.Context) error {
	defer d.ended()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, gctx := errgroup.WithContext(ctx)
	// The watcher and the socket outlive the engines' last push: they stop when
	// the engines have.
	serving, serveNoMore := context.WithCancel(context.WithoutCancel(ctx))
	defer serveNoMore()
	aside := new(errgroup.Group)
	d.mu.Lock()
	d.ctx, d.group, d.stop = gctx, group, stop
	d.wide, d.aside = serving, aside
	d.mu.Unlock()
	aside.Go(func() error { defer stop(); return d.socket.Run(serving) })

	hups, ignoreHups := hangups()
	defer ignoreHups()
	group.Go(func() error { return d.reloadOnHangup(gctx, hups) })
	group.Go(func() error { return d.keepPauses(gctx) })
	systemd := notifier{d.log}
	group.Go(func() error { return systemd.watch(gctx, d.alive) })
	group.Go(func() error { return d.wakeAfterSleep(gctx) })
	group.Go(func() error { return d.noticeSignIns(gctx) })
	group.Go(func() error { return d.keepSignIns(gctx) })
	err := d.Reload(gctx)
	if err == nil {
		err = d.outwait(gctx)
	}
	if err == nil {
		close(d.ready)
		group.Go(func() error { return d.retryFaulty(gctx) })
		systemd.ready(gctx)
		d.log.InfoContext(gctx, "daemon started", "roots", len(d.live()), "version", versionText())
		<-gctx.Done()
		systemd.stopping(gctx)
	}
	stop()
	d.reloadNoMore()
	err = errors.Join(err, group.Wait())
	serveNoMore()
	return errors.Join(err, aside.Wait())
}

// giveUp lets go of lock and socket without having run.
func (d *daemon) giveUp() error {
	defer d.ended()
	never, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(d.socket.Run(never), d.lease.Release())
}
