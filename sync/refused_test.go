package sync_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestRefusedFollowerLooks: a sign-in that ends between the first look and the
// stream shows at once, and not with the next poll.
func TestRefusedFollowerLooks(t *testing.T) {
	t.Parallel()
	for _, ended := range []error{api.ErrSignedOut, api.ErrForbidden} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			looked := make(chan struct{})
			var looks atomic.Int32
			r.remote.before = func(call string, _ api.Batch) error {
				if call == "follow" {
					<-looked
					return api.Errorf(ended, "")
				}
				if looks.Add(1) == 1 {
					close(looked) // it was let through
					return nil
				}
				return api.Errorf(ended, "")
			}
			r.start(t, nil)
			pass(5 * time.Second)
			if got := r.engine.Report(); !errors.Is(got.Err, ended) {
				t.Errorf("five seconds after the stream was refused: %s, %v, want %v", got.Word, got.Err, ended)
			}
			was := looks.Load()
			pass(10 * time.Minute)
			if n := looks.Load() - was; n > 40 {
				t.Errorf("%d looks in ten minutes of being refused", n)
			}
		})
	}
}
