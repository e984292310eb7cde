package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/watcher"
)

// alive answers the watchdog: every engine completes a step within ctx.
func (d *daemon) alive(ctx context.Context) error {
	var beats errgroup.Group
	for _, root := range d.live() {
		beats.Go(func() error { return root.engine.Beat(ctx) })
	}
	return beats.Wait()
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

// progress calls set with how far a root is, at every step, until ctx ends.
func (d *daemon) progress(ctx context.Context, id string, set func(control.Progress)) {
	for {
		changed := d.changed.next()
		if root := d.find(id); root != nil {
			set(progressFrom(root.engine.Report().Progress))
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// Status returns the state of all roots.
func (d *daemon) Status(ctx context.Context) (control.Status, error) {
	status := control.Status{
		Schema: schema, Identity: who(machine{getenv: d.app.getenv}.actor()), Log: logPlace(d.app.getenv, d.app.err),
	}
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

// glanceTime is how long a status waits for a reading of one root.
const glanceTime = time.Second

// glance is the report of what is true now, not at the end of the last cycle:
// with the change that has not settled, and what waits for a server that is away.
func glance(ctx context.Context, engine *teamsync.Engine) teamsync.Report {
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	return engine.Glance(ctx)
}

func (d *daemon) rootStatus(ctx context.Context, root *liveRoot) (control.RootStatus, error) {
	watching := d.watching()
	mode := watching.Mode(root.ID)
	pause := d.pauseOf(root)
	report := root.engine.Report()
	if mode == watcher.Polling || watching.Pending(root.ID) || report.Word != teamsync.InSync {
		report = glance(ctx, root.engine)
	}
	described, err := root.describe(ctx, report)
	if err != nil {
		return control.RootStatus{}, err
	}
	if mode == watcher.Polling && described.State == string(teamsync.InSync) {
		described.State = string(teamsync.Polling)
	}
	return control.RootStatus{
		RootReport: described, LastPush: report.LastPush, LastPull: report.LastPull, NextRetry: report.NextRetry,
		Watch: string(mode), WatchReason: watching.Reason(root.ID), WatchRemedy: watching.Remedy(root.ID),
		PausedSince: pause.Since, PausedUntil: pause.Until, Progress: progressFrom(report.Progress),
	}, nil
}
