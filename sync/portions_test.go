package sync_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestSlowLineGetsThrough: where an answer with everything breaks off, less is
// asked for at a time, and what arrived is not asked for again.
func TestSlowLineGetsThrough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const files, bearable = 1000, 30
		for i := range files {
			r.remote.set(fmt.Sprintf("n/%03d.md", i), fmt.Sprintf("text %d", i))
		}
		asked, tries := 0, 0
		r.remote.before = func(call string, batch api.Batch) error {
			if call != "pull" {
				return nil
			}
			tries++
			if n := len(batch.Entries); n == 0 || n > bearable {
				return fmt.Errorf("%w: the answer broke off", api.ErrOffline)
			}
			asked += len(batch.Entries)
			return nil
		}
		r.start(t, nil)
		for range 10 {
			pass(time.Minute)
		}
		if got := r.engine.Report(); got.Word != teamsync.InSync || got.Unchanged+got.Received != files {
			t.Errorf("after ten minutes: %s, %d received, %d unchanged, %v", got.Word, got.Received, got.Unchanged, got.Err)
		}
		if asked != files || tries > files {
			t.Errorf("%d contents were asked for in %d requests that arrived, want %d", asked, tries, files)
		}
		// The line is better again: so is the portion.
		r.remote.mu.Lock()
		for i := range files {
			r.remote.put(key(t, fmt.Sprintf("m/%03d.md", i)), "text")
		}
		r.remote.version++
		tries, r.remote.before = 0, func(call string, _ api.Batch) error {
			if call == "pull" {
				tries++
			}
			return nil
		}
		r.remote.mu.Unlock()
		r.remote.ring()
		pass(time.Minute)
		if got := r.engine.Report(); got.Word != teamsync.InSync || tries > 6 {
			t.Errorf("on a good line: %s after %d requests", got.Word, tries)
		}
	})
}
