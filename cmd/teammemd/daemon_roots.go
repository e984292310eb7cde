package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	teamsync "github.com/teammem/teammemd/sync"
)

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

// Reload reads the configuration, the roots and their pauses again, starts those that are new
// and ends those that are gone. A configuration that differs is taken up by all
// roots, after their last push under the old one; a faulty one changes nothing. A
// faulty root is reported by status and hinders no other.
func (d *daemon) Reload(ctx context.Context) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	if d.closing {
		return fmt.Errorf("%w: the daemon is ending", api.ErrUnavailable)
	}
	m, err := d.app.machine()
	if err != nil {
		return err
	}
	wanted, err := m.roots()
	if err != nil {
		return err
	}
	changed := !reflect.DeepEqual(m.client.Config, d.client)
	for _, root := range d.live() {
		i := slices.IndexFunc(wanted, func(w config.Root) bool { return w.ID == root.ID })
		if changed || i < 0 || wanted[i] != root.Root {
			d.end(root)
		}
	}
	if changed {
		d.client = m.client.Config
		d.setLevel(d.client.LogLevel)
		d.watchAnew(d.client.Debounce.Std(), d.client.MaxWait.Std())
	}
	d.mu.Lock()
	clear(d.fault)
	d.mu.Unlock()
	for _, root := range wanted {
		if d.find(root.ID) != nil {
			continue
		}
		if err := d.start(ctx, m, root); err != nil {
			d.log.ErrorContext(ctx, "root not started", "root", root.ID, "error", oneLine(err.Error()))
			d.blame(root, err)
		}
	}
	d.readPauses()
	return nil
}

const (
	// retryEvery is the time between two tries of roots that could not be opened:
	// somebody else may have had them, or their state may have been mended. It is
	// less at first: a 'status' or a 'sync' of a machine without a daemon has a root
	// for a moment only.
	retryEvery = 15 * time.Second
	retryFirst = 100 * time.Millisecond
	// outwaitFor is how long a daemon that finds all of its roots taken waits for
	// whoever has them. Another daemon keeps them for longer.
	outwaitFor = 10 * time.Second
)

func (d *daemon) retryFaulty(ctx context.Context) error {
	for wait := retryFirst; ; wait = min(2*wait, retryEvery) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
			d.startFaulty(ctx)
		}
	}
}

// outwait tries roots again that are all taken, and returns why a daemon has
// nothing to do here where they stay so.
func (d *daemon) outwait(ctx context.Context) error {
	for begun := time.Now(); ; {
		err := d.allTaken()
		if err == nil || time.Since(begun) > outwaitFor {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retryFirst):
			d.startFaulty(ctx)
		}
	}
}

// startFaulty tries the roots again that could not be opened.
func (d *daemon) startFaulty(ctx context.Context) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	faulty := d.faulty()
	if d.closing || len(faulty) == 0 {
		return
	}
	m, err := d.app.machine()
	if err != nil {
		return // the next reload tells
	}
	for _, fault := range faulty {
		err := d.start(ctx, m, fault.root)
		switch {
		case err == nil:
			d.log.InfoContext(ctx, "root started", "root", fault.root.ID)
			d.absolve(fault.root)
		case err.Error() != fault.err.Error():
			d.log.ErrorContext(ctx, "root not started", "root", fault.root.ID, "error", oneLine(err.Error()))
			d.blame(fault.root, err)
		}
	}
}

// faulty returns the roots that could not be opened, sorted by id.
func (d *daemon) faulty() []rootFault {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.SortedFunc(maps.Values(d.fault), func(a, b rootFault) int { return strings.Compare(a.root.ID, b.root.ID) })
}

// allTaken returns why a daemon has nothing to do here: other processes keep all
// of its roots in step.
func (d *daemon) allTaken() error {
	faulty := d.faulty()
	if len(faulty) == 0 || len(d.live()) > 0 {
		return nil
	}
	for _, fault := range faulty {
		if !errors.Is(fault.err, api.ErrAlreadyRunning) {
			return nil
		}
	}
	return faulty[0].err
}

// reloadNoMore waits for a reload under way and refuses all later ones.
func (d *daemon) reloadNoMore() {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	d.closing = true
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

// start opens a root and runs its engine.
func (d *daemon) start(ctx context.Context, m machine, root config.Root) error {
	log := d.log.With("root", root.ID)
	w := d.watching()
	var open *openRoot
	// At the end a root that was in step is looked at once more: the watcher may
	// not have told yet what was written a moment ago.
	unsettled := func() bool { return w.Pending(root.ID) || open.engine.Report().Word == teamsync.InSync }
	open, err := m.open(ctx, root, rootOptions{
		scanner: d.scanner, log: log, unsettled: unsettled, tends: true,
		changed: func(teamsync.Report) { d.changed.ring() },
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	running, cancel := context.WithCancel(d.ctx)
	live := &liveRoot{openRoot: open, cancel: cancel, ended: make(chan struct{})}
	d.roots[root.ID] = live
	d.group.Go(func() error {
		defer close(live.ended)
		err := errors.Join(open.engine.Run(running), open.close())
		w.Remove(root.ID)
		d.forget(live)
		if err != nil {
			log.ErrorContext(running, "root ended", "error", oneLine(err.Error()))
			d.blame(root, err)
		}
		return nil // one root must not end the others
	})
	w.Add(root.ID, root.Dir)
	return nil
}

// end stops a root's engine and waits for its last push.
func (d *daemon) end(root *liveRoot) {
	root.cancel()
	<-root.ended
}

func (d *daemon) forget(root *liveRoot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.roots[root.ID] == root {
		delete(d.roots, root.ID)
	}
}

func (d *daemon) absolve(root config.Root) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.fault, root.ID)
}

// blame keeps why a root does not run, for status.
func (d *daemon) blame(root config.Root, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fault[root.ID] = rootFault{root, err}
	d.changed.ring()
}
