package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/remote"
	"github.com/teammem/teammemd/sync/statedir"
)

// openRoot is one registered root with its engine and everything the engine
// stands on. Its state is locked until close.
type openRoot struct {
	config.Root
	state  *statedir.Dir
	tree   *memdir.Tree
	remote *remote.Client
	tokens tokens
	engine *teamsync.Engine
	names  maskedNames
	pause  pauseNote // that the engine is held to; in a daemon guarded by its mu
}

// rootOptions say how a root is opened.
type rootOptions struct {
	scanner   *scanner.Scanner
	onDemand  bool
	tends     bool // retention is applied once a day
	unsettled func() bool
	changed   func(teamsync.Report) // called on every step of the engine; nil for nobody
	log       *slog.Logger
}

// tend returns what applies the retention of saved copies, nil for nothing.
func (o rootOptions) tend(state *statedir.Dir) func(context.Context) {
	if !o.tends {
		return nil
	}
	return func(ctx context.Context) {
		if dropped, err := state.Tend(time.Now()); err != nil {
			o.log.WarnContext(ctx, "old saved copies not dropped", "error", oneLine(err.Error()))
		} else if dropped > 0 {
			o.log.InfoContext(ctx, "old saved copies dropped", "copies", dropped)
		}
	}
}

// recheck is how often an engine reads everything of its own accord. A daemon's
// watcher asks for that every five minutes, and one of the two is enough: at ten
// thousand files it is most of what a daemon at rest does.
const recheck = time.Hour

// open locks a root's state, clears what a crash left behind, and makes its
// engine. [api.ErrAlreadyRunning] names the process that has it.
func (m machine) open(ctx context.Context, root config.Root, o rootOptions) (*openRoot, error) {
	state, err := statedir.Open(m.paths.RootState(root.ID))
	if err != nil {
		return nil, err
	}
	if err := state.Lock(); err != nil {
		return nil, err
	}
	r, err := m.assemble(ctx, root, state, o)
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return r, nil
}

func (m machine) assemble(ctx context.Context, root config.Root, state *statedir.Dir, o rootOptions) (*openRoot, error) {
	base, err := state.Bases(ctx)
	if err != nil {
		return nil, err
	}
	client := m.client.Config
	tree, err := memdir.Open(memdir.Options{
		Root: root.Dir, Staging: state.Staging(), Save: state.Save,
		Extensions: client.Extensions, Ignore: client.Ignore, Logger: o.log,
		Prefer: func(key api.Key) bool { return base(key).Live() },
		Known:  func(key api.Key) []api.Checksum { return append([]api.Checksum{base(key).Sum}, base(key).Ring...) },
	})
	if err != nil {
		return nil, err
	}
	if err := tree.Lock(); err != nil {
		return nil, err
	}
	if err := tree.Recover(ctx); err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	if _, err := state.Device(); err != nil { // it syncs without: the server cannot tell who has cleaned up then
		o.log.WarnContext(ctx, "no id for this checkout", "error", oneLine(err.Error()))
	}
	server, err := m.dial(root)
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	r := &openRoot{Root: root, state: state, tree: tree, remote: server, tokens: tokens{m, root}, names: maskedNames{scanner: o.scanner}}
	r.engine = teamsync.New(teamsync.Options{
		Tree: tree, Disk: tree, Remote: server, State: state, Guard: m.newGuard(root.Repo, o.scanner, server.Policy, state.Text, o.log), Texts: state,
		Merge:    client.OnConflict == config.Merge,
		Timing:   teamsync.Timing{Debounce: client.Debounce.Std(), Poll: client.Poll.Std(), Recheck: recheck},
		OnDemand: o.onDemand, Tend: o.tend(state), Unsettled: o.unsettled, Logger: o.log,
		Changed: func() {
			if o.changed != nil {
				o.changed(r.engine.Report())
			}
		},
	})
	if r.pause = readPause(state.Path(), time.Now()); r.pause.active() {
		r.engine.Pause(true) // before its first cycle
	}
	return r, nil
}

func (r *openRoot) close() error { return errors.Join(r.tree.Close(), r.state.Close()) }

// dial returns the client for a root's repo. Its token is looked up when it is
// needed, so that a new sign-in counts at once.
func (m machine) dial(root config.Root) (*remote.Client, error) {
	return remote.New(remote.Options{
		URL: root.Server, Repo: root.Repo, UserAgent: "teammemd/" + versionText(),
		Token: tokens{m, root}, Renew: tokens{m, root}.renew, Actor: m.actor(), Device: statedir.DeviceAt(m.paths.RootState(root.ID)),
	})
}

// actor names the person and the machine in the versions on the server.
func (m machine) actor() api.Actor {
	actor := api.Actor{Device: deviceName()}
	for _, name := range []string{"USER", "LOGNAME", "USERNAME"} {
		if user := m.getenv(name); user != "" && actor.Person == "" {
			actor.Person = user
		}
	}
	return actor
}

func deviceName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "unnamed"
	}
	return name
}

// unread lists the conflicts that nobody has looked at.
func unread(state *statedir.Dir) (control.List[control.Conflict], error) {
	copies, err := state.Copies()
	if err != nil {
		return nil, err
	}
	var list control.List[control.Conflict]
	for _, c := range copies {
		if !c.Read && c.Why != whyRetired && c.Why != whyMerged {
			list = append(list, control.Conflict{ID: c.ID, Key: c.Key.String(), SavedAt: c.SavedAt})
		}
	}
	return list, nil
}

// Copies of files that the team retired, and of texts whose edits live on in a
// merge: nobody has to act.
const (
	whyRetired = "retired"
	whyMerged  = "merged"
)

// cycleOnce runs one manual cycle of a root without a daemon.
func (m machine) cycleOnce(ctx context.Context, root config.Root, o rootOptions, req control.SyncRequest) (control.RootReport, error) {
	o.onDemand = true
	begun := time.Now()
	r, err := m.open(ctx, root, o)
	if err != nil {
		return control.RootReport{}, err
	}
	r.prepare(req)
	report, err := r.cycle(ctx, modeOf(req))
	err = errors.Join(err, r.tree.Recover(ctx)) // what was displaced a moment ago is looked at once more
	if err == nil {
		report.DurationMS = time.Since(begun).Milliseconds()
	}
	return report, errors.Join(err, r.close())
}

// prepare passes on a person's word about a server that was set back.
func (r *openRoot) prepare(req control.SyncRequest) {
	if req.Resolve != "" {
		r.engine.Resolve(teamsync.Resolution(req.Resolve))
	}
}

// cycle runs the engine just long enough for one manual cycle.
func (r *openRoot) cycle(ctx context.Context, mode teamsync.Mode) (control.RootReport, error) {
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- r.engine.Run(running) }()
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	type outcome struct {
		report teamsync.Report
		err    error
	}
	answered := make(chan outcome, 1)
	go func() {
		report, err := r.engine.Sync(asking, mode)
		answered <- outcome{report, err}
	}()
	select {
	case err := <-ended: // the state could not be read
		stop()
		giveUp(err)
		<-answered
		return control.RootReport{}, err
	case got := <-answered:
		stop()
		if err := errors.Join(got.err, <-ended); err != nil {
			return control.RootReport{}, err
		}
		return r.describe(ctx, got.report)
	}
}

// describe completes a report by the conflicts that wait on this machine.
func (r *openRoot) describe(ctx context.Context, report teamsync.Report) (control.RootReport, error) {
	conflicts, err := unread(r.state)
	if err != nil {
		return control.RootReport{}, err
	}
	report.Held = r.names.mask(ctx, report.Held)
	out := reportOf(r.Root, report, conflicts)
	if !control.Watching(ctx) {
		out.Notices = r.notices(report)
	}
	for i, key := range out.PendingKeys {
		out.PendingKeys[i] = r.names.name(ctx, key)
	}
	return out, nil
}
