package sync_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// TestRefusedIsTriedAgain: what the server refused is sent again when others have
// changed the server, since its cause may be gone, and not at every turn.
func TestRefusedIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("mine.md", "text")
		puts := 0
		refuse := true
		r.remote.before = func(call string, _ api.Batch) error {
			if call != "push" {
				return nil
			}
			puts++
			if refuse {
				return &api.Error{Err: api.ErrKeyConflict, Message: "another key differs in case alone"}
			}
			return nil
		}
		r.start(t, nil)
		pushed := func(when string, want int) {
			t.Helper()
			r.remote.mu.Lock()
			defer r.remote.mu.Unlock()
			if puts != want {
				t.Errorf("%s: %d pushes, want %d", when, puts, want)
			}
		}
		pass(time.Hour)
		pushed("nothing moved for an hour", 1)
		r.remote.set("other.md", "text")
		pass(time.Minute)
		pushed("the server moved", 2)
		r.remote.set("other.md", "more")
		pass(time.Minute)
		pushed("it moved again soon after", 2)
		r.remote.mu.Lock()
		refuse = false
		r.remote.mu.Unlock()
		pass(time.Hour)
		pushed("nothing moved for another hour", 2)
		r.remote.set("other.md", "and more")
		pass(time.Minute)
		pushed("it moved once more", 3)
		if got := r.engine.Report(); got.Word != teamsync.InSync || len(got.Held) != 0 {
			t.Errorf("the cause is gone: %s, held %v", got.Word, got.Held)
		}
	})
}
