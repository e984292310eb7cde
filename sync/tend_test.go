package sync_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestTendHasTheStateForItself: retention is applied at the start and then now and
// again, and never while a cycle is under way.
func TestTendHasTheStateForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var tended atomic.Int32
		working := false // of the engine's goroutine alone
		r.remote.before = func(call string, _ api.Batch) error {
			if call != "follow" {
				working = true
				<-time.After(20 * time.Second)
				working = false
			}
			return nil
		}
		r.start(t, func(o *teamsync.Options) {
			o.Tend = func(context.Context) {
				tended.Add(1)
				if working {
					t.Error("in the midst of a cycle")
				}
			}
		})
		synctest.Wait()
		if n := tended.Load(); n != 1 {
			t.Errorf("%d times at the start", n)
		}
		pass(48 * time.Hour)
		if n := tended.Load(); n < 24 || n > 49 {
			t.Errorf("%d times in two days, want about once an hour", n)
		}
	})
}
