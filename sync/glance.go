package sync

import (
	"context"
	"errors"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// Glance reads the directory and returns the report with what waits here by now.
// It asks no server and moves nothing: it is for telling the truth between two
// cycles, while changes settle, and while the engine is paused or cut off. Of an
// engine that is at work, or has ended, and once ctx ends, the report is
// [Engine.Report].
func (e *Engine) Glance(ctx context.Context) Report {
	seen := make(chan Report, 1)
	e.mu.Lock()
	e.glances = append(e.glances, seen)
	e.mu.Unlock()
	e.post(nil)
	select {
	case r := <-seen:
		return r
	case <-e.ended:
	case <-ctx.Done():
	}
	return e.Report()
}

// glance answers whoever asked for one, with one reading.
func (e *Engine) glance(ctx context.Context, core *Core) {
	e.mu.Lock()
	asking := e.glances
	e.glances = nil
	e.mu.Unlock()
	if len(asking) == 0 {
		return
	}
	report := core.Report()
	if core.Idle() {
		snapshot, err := e.opts.Tree.Snapshot(ctx, api.Reading{Settle: core.timing.settle()})
		report = core.Glance(snapshot, err)
	}
	for _, seen := range asking {
		seen <- report
	}
}

// Glance returns the report of the last cycle, with what a reading of the
// directory since found to differ from what both sides had last. It changes
// nothing. Call it while the core is idle.
func (c *Core) Glance(snapshot api.Snapshot, err error) Report {
	r := c.Report()
	if planted.In(planted.StaleStatus) {
		return r
	}
	if err != nil {
		if errors.Is(err, api.ErrRootMissing) && r.Word == InSync {
			r.Word, r.Err = RootMissing, err
		}
		return r
	}
	waiting := c.differing(snapshot, r.Held)
	if len(waiting) > r.Pending {
		r.Pending, r.Waiting = len(waiting), firstOf(waiting)
	}
	if len(waiting) > 0 && r.Word == InSync {
		r.Word = Pending
	}
	return r
}

// differing lists the keys whose files are not what both sides had last, those
// left out that are held, and so listed anyway.
func (c *Core) differing(snapshot api.Snapshot, held []Held) (keys []api.Key) {
	told := make(map[api.Key]bool, len(held))
	for _, h := range held {
		told[h.Key] = h.Reason != api.HeldUnstable
	}
	here := make(map[api.Key]bool, len(snapshot.Files))
	for _, file := range snapshot.Files {
		here[file.Key] = true
		if file.Sum != c.memory.Bases[file.Key].Sum && !told[file.Key] {
			keys = append(keys, file.Key)
		}
	}
	for _, file := range snapshot.Held {
		if file.Reason == api.HeldUnstable && !here[file.Key] && !told[file.Key] {
			keys = append(keys, file.Key)
		}
		here[file.Key] = true
	}
	for key, base := range c.memory.Bases {
		if !base.Sum.IsZero() && !here[key] && !told[key] {
			keys = append(keys, key) // deleted here, to be restored
		}
	}
	return keys
}
