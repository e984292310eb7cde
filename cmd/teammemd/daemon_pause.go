package main

import (
	"context"
	"time"
)

// pauseCheck is how often the pauses are looked at without being told to: a clock
// that is set, and a machine that sleeps, must not stretch one by more.
const pauseCheck = 30 * time.Second

// keepPauses holds the engines to the pauses that are kept on disk, until ctx
// ends. It alone changes what a running root takes for its pause.
func (d *daemon) keepPauses(ctx context.Context) error {
	for {
		timer := time.NewTimer(d.applyPauses(time.Now()))
		var told chan struct{}
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case told = <-d.repause:
		case <-timer.C:
		}
		timer.Stop()
		if told != nil {
			d.applyPauses(time.Now())
			close(told)
		}
	}
}

// readPauses returns when the pauses on disk are in force, or the daemon ends.
func (d *daemon) readPauses() {
	d.mu.Lock()
	running := d.ctx
	d.mu.Unlock()
	told := make(chan struct{})
	select {
	case <-running.Done():
		return
	case d.repause <- told:
	}
	select {
	case <-running.Done():
	case <-told:
	}
}

// applyPauses pauses and resumes engines by what is on disk, and returns when it
// wants to look again.
func (d *daemon) applyPauses(now time.Time) time.Duration {
	wait := pauseCheck
	for _, root := range d.live() {
		note := readPause(root.state.Path(), now)
		if was := d.setPause(root, note); was.active() != note.active() {
			root.engine.Pause(note.active())
		}
		if !note.Until.IsZero() {
			wait = min(wait, note.Until.Sub(now))
		}
	}
	return wait
}

// setPause puts note in the place of the pause that it returns.
func (d *daemon) setPause(root *liveRoot, note pauseNote) (was pauseNote) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, root.pause = root.pause, note
	d.changed.ring()
	return was
}

// pauseOf returns the pause that root is held to.
func (d *daemon) pauseOf(root *liveRoot) pauseNote {
	d.mu.Lock()
	defer d.mu.Unlock()
	return root.pause
}
