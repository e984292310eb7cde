package sync_test

import (
	"context"
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
		tended, working := 0, false
		r.remote.before = func(call string, _ api.Batch) error {
			if call != "follow" {
				working = true
				time.Sleep(20 * time.Second)
				working = false
			}
			return nil
		}
		stop := r.start(t, func(o *teamsync.Options) {
			o.Tend = func(context.Context) {
				tended++
				if working {
					t.Error("in the midst of a cycle")
				}
			}
		})
		defer stop()
		synctest.Wait()
		if tended != 1 {
			t.Errorf("%d times at the start", tended)
		}
		time.Sleep(48 * time.Hour)
		if synctest.Wait(); tended < 24 || tended > 49 {
			t.Errorf("%d times in two days, want about once an hour", tended)
		}
	})
}
