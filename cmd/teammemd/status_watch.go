package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
)

const (
	// lookEvery is the time between two looks while no daemon runs that could tell.
	lookEvery = 2 * time.Second
	// redrawEvery is how often a terminal is drawn anew, since what it shows ages.
	redrawEvery = time.Second
)

// statusWatch shows the status and its changes until ctx ends: from the daemon,
// which tells of each, or by looking again and again while none runs.
func (a *app) statusWatch(ctx context.Context) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	view := a.newStatusView()
	ctx, stop := context.WithCancel(ctx)
	var drawing sync.WaitGroup
	defer drawing.Wait()
	defer stop()
	if view.screen != nil {
		drawing.Go(func() { view.redraw(ctx) })
	}
	for {
		if err := a.watchOnce(ctx, m, view); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
}

// watchOnce follows the daemon until it ends. Without one, or with one that
// cannot be watched, it looks once.
func (a *app) watchOnce(ctx context.Context, m machine, view *statusView) error {
	daemon, err := m.daemon(ctx)
	if err == nil {
		err = daemon.Watch(ctx, func(status control.Status) error { return view.see(status, true) })
	}
	if !errors.Is(err, control.ErrNotRunning) && !errors.Is(err, api.ErrNotFound) {
		return err
	}
	status, running, err := a.statusNow(ctx, m)
	if err != nil {
		return err
	}
	return view.see(status, running)
}

// statusView is what status --watch shows: on a terminal one text that changes
// in place, elsewhere a new block for each change.
type statusView struct {
	app    *app
	screen *screen // nil where nothing is drawn over

	mu      sync.Mutex
	status  control.Status // guarded by mu
	running bool           // a daemon runs; guarded by mu
	print   string         // fingerprint of what was seen last, "" for nothing; guarded by mu
}

func (a *app) newStatusView() *statusView {
	v := &statusView{app: a}
	if !a.json && a.canRedraw(a.out.w) {
		v.screen = &screen{out: a.out, size: func() (int, int) { return sizeOf(a.out.w) }}
	}
	return v
}

// see shows a status that differs from the one before.
func (v *statusView) see(status control.Status, running bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	print := fmt.Sprintln(running, fingerprint(status))
	first := v.print == ""
	if print == v.print && v.screen == nil {
		return nil
	}
	v.status, v.running, v.print = status, running, print
	switch {
	case v.screen != nil:
		return v.draw()
	case v.app.json:
		return v.app.showStatus(status, running)
	case !first:
		v.app.printf("\n")
	}
	return v.app.showStatus(status, running)
}

// redraw draws what was seen last once a second, until ctx ends.
func (v *statusView) redraw(ctx context.Context) {
	ticker := time.NewTicker(redrawEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		v.mu.Lock()
		if v.print != "" {
			_ = v.draw() // a.out keeps the error
		}
		v.mu.Unlock()
	}
}

// draw puts the status on the screen. It is called under mu.
func (v *statusView) draw() error {
	var text bytes.Buffer
	onto := *v.app
	onto.out = &results{w: &text}
	onto.printStatus(v.status, v.running)
	return v.screen.show(text.String())
}

// fingerprint is what a person would see change. How far a cycle has come is no
// change, nor is the passing of time.
func fingerprint(status control.Status) string {
	var b strings.Builder
	for _, r := range status.Roots {
		fmt.Fprintln(&b, r.Root, r.State, r.Watch, r.Error, r.LastPush, r.LastPull, r.Pending, r.PendingKeys, r.PausedSince, r.PausedUntil)
		for _, h := range r.Held {
			fmt.Fprintln(&b, h.Key, h.Line, h.Rule, h.Reason)
		}
		for _, c := range r.Conflicts {
			fmt.Fprintln(&b, c.ID)
		}
	}
	return b.String()
}
