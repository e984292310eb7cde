package sync_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

func TestProgressOfALongCycle(t *testing.T) {
	t.Parallel()
	const mine, theirs = 700, 300
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range mine {
			r.tree.write(fmt.Sprintf("mine-%03d.md", i), "mine")
		}
		for i := range theirs {
			r.remote.set(fmt.Sprintf("theirs-%03d.md", i), "theirs")
		}
		var seen []teamsync.Progress
		r.start(t, func(o *teamsync.Options) {
			o.OnDemand = true
			o.Changed = func() {
				now := r.engine.Report().Progress
				if n := len(seen); n == 0 || seen[n-1] != now {
					seen = append(seen, now)
				}
			}
		})
		r.sync(t, teamsync.Mode{})
		synctest.Wait()
		if len(seen) < 5 || seen[0] != (teamsync.Progress{}) || seen[len(seen)-1] != (teamsync.Progress{}) {
			t.Fatalf("progress %v: want several steps, and none before and after", seen)
		}
		steps := seen[1 : len(seen)-1]
		if steps[0].Done != 0 || steps[len(steps)-1].Done != mine+theirs {
			t.Errorf("from %d to %d, want 0 to %d", steps[0].Done, steps[len(steps)-1].Done, mine+theirs)
		}
		for i, step := range steps {
			if step.Planned != mine+theirs || i > 0 && step.Done <= steps[i-1].Done {
				t.Errorf("step %d is %+v after %v", i, step, steps[:i])
			}
		}
	})
}

func TestReportNamesTheFirstThatWait(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]string{"before the server was seen": "hashes", "after": "push"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				for _, name := range []string{"g.md", "c.md", "a.md", "f.md", "b.md", "e.md", "d.md"} {
					r.tree.write(name, name)
				}
				r.remote.fail(call, api.ErrOffline)
				r.start(t, onDemand)
				got := r.sync(t, teamsync.Mode{})
				var names []string
				for _, key := range got.Waiting {
					names = append(names, key.String())
				}
				if diff := cmp.Diff([]string{"a.md", "b.md", "c.md", "d.md", "e.md"}, names); diff != "" || got.Pending != 7 {
					t.Errorf("%d wait (-want +got):\n%s", got.Pending, diff)
				}
				r.remote.meet(nil)
				if got := r.sync(t, teamsync.Mode{}); got.Pending != 0 || !slices.Equal(got.Waiting, []api.Key{}) && got.Waiting != nil {
					t.Errorf("%d wait, %v", got.Pending, got.Waiting)
				}
			})
		})
	}
}
