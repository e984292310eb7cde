package sync_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestF18Rouse wakes an engine that has been offline for hours: it looks and
// follows within seconds, and not at the end of waits that had grown to minutes.
func TestF18Rouse(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.tree.write("mine.md", "1")
			var follows atomic.Int32
			var away atomic.Bool
			away.Store(true)
			r.remote.before = func(call string, _ api.Batch) error {
				if call == "follow" {
					follows.Add(1)
				}
				if away.Load() {
					return api.Errorf(api.ErrOffline, "")
				}
				return nil
			}
			r.start(t, func(o *teamsync.Options) { o.Seed = seed + 1 })
			pass(3 * time.Hour)
			if got := r.engine.Report(); got.Word != teamsync.Offline {
				t.Fatalf("%s without a server", got.Word)
			}
			away.Store(false)
			follows.Store(0)
			r.engine.Rouse()
			pass(5 * time.Second)
			if content, _ := r.remote.get("mine.md"); content != "1" {
				t.Errorf("seed %d: nothing was pushed five seconds after waking, report %+v", seed, r.engine.Report())
			}
			if n := follows.Load(); n != 1 {
				t.Errorf("seed %d: followed %d times, want once", seed, n)
			}
		})
	}
}

// TestF18RouseReadsEverything: events may have been lost in the sleep.
func TestF18RouseReadsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t, nil)
		synctest.Wait()
		r.engine.Hint(false, false)
		synctest.Wait()
		if r.tree.rule.Full {
			t.Fatal("a hint reads everything")
		}
		r.tree.write("unheard.md", "1")
		r.engine.Rouse()
		pass(3 * time.Second)
		if content, _ := r.remote.get("unheard.md"); !r.tree.rule.Full || content != "1" {
			t.Errorf("after a sleep: read as %+v, and the server has %q", r.tree.rule, content)
		}
	})
}

// TestF18RouseObeysTheServer: who was told when to come back does not come
// earlier for having slept.
func TestF18RouseObeysTheServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var looks atomic.Int32
		r.remote.before = func(call string, _ api.Batch) error {
			if call == "hashes" {
				looks.Add(1)
			}
			return &api.Error{Err: api.ErrUnavailable, RetryAfter: time.Minute}
		}
		r.start(t, nil)
		synctest.Wait()
		before := looks.Load()
		r.engine.Rouse()
		pass(50 * time.Second)
		if n := looks.Load(); n != before {
			t.Errorf("%d looks before the server's minute was over", n-before)
		}
		pass(time.Minute)
		if looks.Load() == before {
			t.Error("no look after the server's minute")
		}
	})
}
