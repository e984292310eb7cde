package main

import (
	"context"
	"time"

	"github.com/teammem/teammemd/watcher"
)

// watch is the watcher of all roots. One that listens to other times is another
// watcher.
type watch struct {
	*watcher.Watcher
	end context.CancelFunc
}

// forCycle is the part of the longest wait that is left for reading, scanning and
// sending what was waited for: who is promised a version every ten seconds gets
// it in ten.
func forCycle(longest time.Duration) time.Duration { return longest / 20 }

// watchAnew puts a new watcher in the place of the old one. No root may be
// running: each keeps the watcher that it was started with.
func (d *daemon) watchAnew(quiet, longest time.Duration) {
	w := watcher.New(watcher.Options{Logger: d.log, Quiet: quiet, Max: longest - forCycle(longest)})
	d.mu.Lock()
	running, end := context.WithCancel(d.wide)
	old, stop, aside := d.watch, d.stop, d.aside
	d.watch = &watch{w, end}
	d.mu.Unlock()
	if old != nil {
		old.end()
	}
	aside.Go(func() error {
		err := w.Run(running)
		if running.Err() == nil {
			stop() // without a watcher there is no daemon
		}
		return err
	})
	aside.Go(func() error { d.forward(running, w); return nil })
}

// watching returns the watcher in force.
func (d *daemon) watching() *watcher.Watcher {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.watch.Watcher
}

// forward passes settled hints to the engines.
func (d *daemon) forward(ctx context.Context, w *watcher.Watcher) {
	for {
		select {
		case <-ctx.Done():
			return
		case hint := <-w.Settled():
			if root := d.find(hint.ID); root != nil {
				root.engine.Hint(hint.Full, hint.Busy)
			}
		}
	}
}
