package sync_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestF30BeatTellsHungFromIdle asks an engine that waits, one at work and one
// that hangs for a completed step.
func TestF30BeatTellsHungFromIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "text")
		stop := r.start(t, func(o *teamsync.Options) { o.Flush = time.Second })
		beat := func(within time.Duration) (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			begun := time.Now()
			err := r.engine.Beat(ctx)
			return time.Since(begun), err
		}
		synctest.Wait()
		if took, err := beat(time.Minute); took > 0 || err != nil {
			t.Errorf("an idle engine beats after %s, %v", took, err)
		}
		hold := make(chan struct{})
		r.remote.meet(func(string, api.Batch) error { <-hold; return nil })
		r.engine.Hint(false, false)
		synctest.Wait()
		if took, err := beat(time.Minute); took != time.Minute || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an engine that hangs beats after %s, %v", took, err)
		}
		time.AfterFunc(30*time.Second, func() { close(hold) })
		if took, err := beat(time.Minute); took != 30*time.Second || err != nil {
			t.Errorf("an engine at work beats after %s, %v, want when the call has ended", took, err)
		}
		stop()
		if took, err := beat(time.Minute); took > 0 || err != nil {
			t.Errorf("an engine that has ended keeps the watchdog waiting: %s, %v", took, err)
		}
	})
}
