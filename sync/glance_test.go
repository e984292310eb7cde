package sync_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestGlanceSeesWhatNobodyHinted: between two cycles the last report may be out of
// date; a glance is not, and it moves nothing.
func TestGlanceSeesWhatNobodyHinted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("here.md", "text")
		r.tree.write("held.md", "\x00")
		r.remote.set("there.md", "text")
		r.start(t, onDemand)
		r.sync(t, teamsync.Mode{})
		for _, step := range []struct {
			name string
			do   func()
			word teamsync.Word
			want []api.Key
		}{
			{"nothing moved", func() {}, teamsync.InSync, nil},
			{"what is held is held", func() { r.tree.write("held.md", "\x00 still no text") }, teamsync.InSync, nil},
			{"saved as it was", func() { r.tree.write("here.md", "text") }, teamsync.InSync, nil},
			{"edited", func() { r.tree.write("here.md", "edited") }, teamsync.Pending, []api.Key{key(t, "here.md")}},
			{"deleted", func() { r.tree.remove("there.md") }, teamsync.Pending, []api.Key{key(t, "here.md"), key(t, "there.md")}},
			{"new", func() { r.tree.write("a.md", "new") }, teamsync.Pending, []api.Key{key(t, "a.md"), key(t, "here.md"), key(t, "there.md")}},
		} {
			step.do()
			got := r.engine.Glance(t.Context())
			if got.Word != step.word || got.Pending != len(step.want) || !cmp.Equal(got.Waiting, step.want, cmp.Comparer(sameKey)) {
				t.Errorf("%s: %s, %d pending, %v; want %s, %v", step.name, got.Word, got.Pending, got.Waiting, step.word, step.want)
			}
		}
		if text, _ := r.remote.get("here.md"); text != "text" || r.engine.Report().Word != teamsync.InSync {
			t.Errorf("a glance moved something: the server has %q", text)
		}
		r.tree.mu.Lock()
		r.tree.gone = true
		r.tree.mu.Unlock()
		if got := r.engine.Glance(t.Context()); got.Word != teamsync.RootMissing {
			t.Errorf("the root is gone: %s", got.Word)
		}
	})
}

// TestGlanceWaitsForNobody: at work, hanging or ended, an engine answers with its
// last report by the asker's deadline.
func TestGlanceWaitsForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stop := r.start(t, func(o *teamsync.Options) { o.Flush = time.Second })
		synctest.Wait()
		hold := make(chan struct{})
		r.remote.mu.Lock()
		r.remote.before = func(string, api.Batch) error { <-hold; return nil }
		r.remote.mu.Unlock()
		r.tree.write("a.md", "text")
		r.engine.Hint(false, false)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		if got := r.engine.Glance(ctx); got.Word != teamsync.Syncing || time.Since(begun) != time.Minute {
			t.Errorf("an engine that hangs: %s after %s", got.Word, time.Since(begun))
		}
		close(hold)
		stop()
		begun = time.Now()
		if r.engine.Glance(t.Context()); time.Since(begun) != 0 {
			t.Errorf("an engine that has ended answers after %s", time.Since(begun))
		}
	})
}

func sameKey(a, b api.Key) bool { return a == b }
