package main

import (
	"context"
	"time"
)

const (
	// sleepTick is how often the daemon looks whether it was asleep.
	sleepTick = 2 * time.Second
	// sleepLeast is how much longer than that a tick must have taken.
	sleepLeast = 10 * time.Second
)

// slept returns for how long this process did not run between two looks that were
// to be a tick apart, 0 for no longer than a busy machine explains. While a
// machine sleeps its monotonic clock may stand still, so the clock on the wall
// counts; while only the process is stopped both go on. A clock that somebody sets
// forward looks the same, and does no harm.
func slept(before, now time.Time) time.Duration {
	onTheWall := now.Round(0).Sub(before.Round(0))
	if gap := max(onTheWall, now.Sub(before)) - sleepTick; gap > sleepLeast {
		return gap
	}
	return 0
}

// wakeAfterSleep makes all roots connect, scan and pull anew after the machine
// slept, or this process was stopped: what they were connected to may be gone
// without a word, and events of their directories may be lost.
func (d *daemon) wakeAfterSleep(ctx context.Context) error {
	ticker := time.NewTicker(sleepTick)
	defer ticker.Stop()
	trim := newTrimmer() // on the same tick: an idle daemon wakes up as rarely as it can
	for before := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := time.Now()
		if gap := slept(before, now); gap > 0 {
			d.log.InfoContext(ctx, "woke up", "asleep_seconds", int(gap.Seconds()))
			for _, root := range d.live() {
				root.remote.Reconnect()
				root.engine.Rouse()
			}
		}
		before = now
		trim.look(d.busy())
	}
}
