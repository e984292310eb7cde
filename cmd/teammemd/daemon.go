package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/watcher"
)

func (a *app) daemonCommand() *cobra.Command {
	return &cobra.Command{
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
			d, err := a.newDaemon(m, scanner.New(scanner.Options{}), a.log(m))
			if err != nil {
				return err
			}
			return d.run(cmd.Context())
		},
	}
}

// daemon runs the engines of all registered roots, the watcher that hints them,
// and the control socket.
type daemon struct {
	app     *app
	log     *slog.Logger
	scanner *scanner.Scanner
	watcher *watcher.Watcher
	lease   *control.Lease
	socket  *control.Server
	ready   chan struct{}   // closed when the roots were started
	over    context.Context // done when run has ended
	ended   context.CancelFunc

	reloading sync.Mutex // one reload at a time

	mu    sync.Mutex
	m     machine              // guarded by mu
	roots map[string]*liveRoot // guarded by mu
	ctx   context.Context      // of run; guarded by mu
	group *errgroup.Group      // of run; guarded by mu
	stop  context.CancelFunc   // ends run; guarded by mu
	fault map[string]rootFault // roots that could not be opened; guarded by mu
}

type rootFault struct {
	root config.Root
	err  error
}

// liveRoot is a root whose engine runs.
type liveRoot struct {
	*openRoot
	cancel context.CancelFunc
	ended  chan struct{}
}

// newDaemon takes the daemon's lock and its socket. [api.ErrAlreadyRunning] when
// another process of this user has them.
func (a *app) newDaemon(m machine, sc *scanner.Scanner, log *slog.Logger) (*daemon, error) {
	lease, err := control.Lock(m.paths.Lock())
	if err != nil {
		return nil, err
	}
	client := m.client.Config
	d := &daemon{
		app: a, log: log, scanner: sc, lease: lease, m: m,
		watcher: watcher.New(watcher.Options{Logger: log, Quiet: client.Debounce.Std(), Max: client.MaxWait.Std()}),
		ready:   make(chan struct{}),
		roots:   make(map[string]*liveRoot),
		fault:   make(map[string]rootFault),
	}
	d.over, d.ended = context.WithCancel(context.Background())
	d.socket = control.NewServer(control.Options{Handler: d, Logger: log, Note: m.paths.SocketNote()})
	if err := d.socket.Listen(lease, m.paths.Socket()); err != nil {
		return nil, errors.Join(err, lease.Release())
	}
	return d, nil
}

// run keeps everything going until ctx ends.
func (d *daemon) run(ctx context.Context) error {
	defer d.ended()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	group, gctx := errgroup.WithContext(ctx)
	d.mu.Lock()
	d.ctx, d.group, d.stop = gctx, group, stop
	d.mu.Unlock()

	// The watcher and the socket outlive the engines' last push: they stop when
	// the engines have.
	serving, serveNoMore := context.WithCancel(context.WithoutCancel(ctx))
	defer serveNoMore()
	aside := new(errgroup.Group)
	aside.Go(func() error { defer stop(); return d.watcher.Run(serving) })
	aside.Go(func() error { defer stop(); return d.socket.Run(serving) })
	aside.Go(func() error { d.forward(serving); return nil })

	hups, ignoreHups := hangups()
	defer ignoreHups()
	group.Go(func() error { return d.reloadOnHangup(gctx, hups) })
	systemd := notifier{d.log}
	group.Go(func() error { return systemd.watch(gctx, d.alive) })
	err := d.Reload(gctx)
	if err == nil {
		close(d.ready)
		systemd.ready(gctx)
		d.log.InfoContext(gctx, "daemon started", "roots", len(d.live()), "version", versionText())
		<-gctx.Done()
		systemd.stopping(gctx)
	}
	stop()
	err = errors.Join(err, group.Wait())
	serveNoMore()
	return errors.Join(err, aside.Wait(), d.lease.Release())
}

// giveUp lets go of lock and socket without having run.
func (d *daemon) giveUp() error {
	defer d.ended()
	never, cancel := context.WithCancel(context.Background())
	cancel()
	return errors.Join(d.socket.Run(never), d.lease.Release())
}

// forward passes settled hints to the engines.
func (d *daemon) forward(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case hint := <-d.watcher.Settled():
			if root := d.find(hint.ID); root != nil {
				root.engine.Hint(hint.Full)
			}
		}
	}
}

func (d *daemon) reloadOnHangup(ctx context.Context, hups <-chan os.Signal) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hups:
			if err := d.Reload(ctx); err != nil {
				d.log.ErrorContext(ctx, "configuration not reloaded", "error", oneLine(err.Error()))
			}
		}
	}
}

// alive answers the watchdog: it hangs where the daemon does.
func (d *daemon) alive(context.Context) error {
	for _, root := range d.live() {
		_ = root.engine.Report()
	}
	return nil
}

// live returns the running roots, sorted by id.
func (d *daemon) live() []*liveRoot {
	d.mu.Lock()
	defer d.mu.Unlock()
	roots := make([]*liveRoot, 0, len(d.roots))
	for _, root := range d.roots {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b *liveRoot) int { return strings.Compare(a.ID, b.ID) })
	return roots
}

func (d *daemon) find(id string) *liveRoot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.roots[id]
}

// Reload reads the configuration and the roots again, starts those that are new
// and ends those that are gone. A faulty configuration changes nothing; a faulty
// root is reported by status and hinders no other.
func (d *daemon) Reload(ctx context.Context) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	m, err := d.app.machine()
	if err != nil {
		return err
	}
	wanted, err := m.roots()
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.m = m
	clear(d.fault)
	d.mu.Unlock()
	for _, root := range d.live() {
		i := slices.IndexFunc(wanted, func(w config.Root) bool { return w.ID == root.ID })
		if i < 0 || wanted[i] != root.Root {
			d.end(root)
		}
	}
	for _, root := range wanted {
		if d.find(root.ID) != nil {
			continue
		}
		if err := d.start(ctx, m, root); err != nil {
			d.log.ErrorContext(ctx, "root not started", "root", root.ID, "error", oneLine(err.Error()))
			d.mu.Lock()
			d.fault[root.ID] = rootFault{root, err}
			d.mu.Unlock()
		}
	}
	return nil
}

// start opens a root and runs its engine.
func (d *daemon) start(ctx context.Context, m machine, root config.Root) error {
	log := d.log.With("root", root.ID)
	open, err := m.open(ctx, root, rootOptions{
		scanner: d.scanner, log: log,
		unsettled: func() bool { return d.watcher.Pending(root.ID) },
	})
	if err != nil {
		return err
	}
	if dropped, err := open.state.Prune(time.Now()); err != nil {
		log.WarnContext(ctx, "old saved copies not dropped", "error", oneLine(err.Error()))
	} else if dropped > 0 {
		log.InfoContext(ctx, "old saved copies dropped", "copies", dropped)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	running, cancel := context.WithCancel(d.ctx)
	live := &liveRoot{openRoot: open, cancel: cancel, ended: make(chan struct{})}
	d.roots[root.ID] = live
	d.group.Go(func() error {
		defer close(live.ended)
		err := errors.Join(open.engine.Run(running), open.close())
		d.forget(live)
		if err != nil {
			log.ErrorContext(running, "root ended", "error", oneLine(err.Error()))
			d.mu.Lock()
			d.fault[root.ID] = rootFault{root, err}
			d.mu.Unlock()
		}
		return nil // one root must not end the others
	})
	d.watcher.Add(root.ID, root.Dir)
	return nil
}

// end stops a root's engine and waits for its last push.
func (d *daemon) end(root *liveRoot) {
	root.cancel()
	<-root.ended
}

func (d *daemon) forget(root *liveRoot) {
	d.watcher.Remove(root.ID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.roots[root.ID] == root {
		delete(d.roots, root.ID)
	}
}

// Stop ends the daemon, after its engines' last push.
func (d *daemon) Stop(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stop != nil {
		d.stop()
	}
	return nil
}

// Sync runs one full cycle of one root.
func (d *daemon) Sync(ctx context.Context, req control.SyncRequest) (control.RootReport, error) {
	root := d.find(req.Root)
	if root == nil {
		d.mu.Lock()
		fault, ok := d.fault[req.Root]
		d.mu.Unlock()
		if ok {
			return control.RootReport{}, fault.err
		}
		return control.RootReport{}, withHint(fmt.Errorf("%w: the daemon does not know this root yet", api.ErrUsage), "send it SIGHUP, or start it again")
	}
	root.prepare(req)
	report, err := root.engine.Sync(ctx, modeOf(req))
	if err != nil {
		return control.RootReport{}, err
	}
	return root.describe(ctx, report)
}

// Status returns the state of all roots.
func (d *daemon) Status(ctx context.Context) (control.Status, error) {
	status := control.Status{Schema: schema}
	for _, root := range d.live() {
		one, err := d.rootStatus(ctx, root)
		if err != nil {
			return control.Status{}, err
		}
		status.Roots = append(status.Roots, one)
	}
	d.mu.Lock()
	for _, fault := range d.fault {
		status.Roots = append(status.Roots, faultStatus(fault))
	}
	d.mu.Unlock()
	slices.SortFunc(status.Roots, func(a, b control.RootStatus) int { return strings.Compare(a.Root, b.Root) })
	summarise(&status)
	return status, nil
}

func (d *daemon) rootStatus(ctx context.Context, root *liveRoot) (control.RootStatus, error) {
	report := root.engine.Report()
	described, err := root.describe(ctx, report)
	if err != nil {
		return control.RootStatus{}, err
	}
	mode := d.watcher.Mode(root.ID)
	if mode == watcher.Polling && described.State == string(teamsync.InSync) {
		described.State = string(teamsync.Polling)
	}
	return control.RootStatus{
		RootReport: described, LastPush: report.LastPush, LastPull: report.LastPull, NextRetry: report.NextRetry, Watch: string(mode),
	}, nil
}
