package sync_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// outage is a server that cannot be followed for a while.
type outage struct {
	*remote
	until time.Time
	up    chan struct{} // capacity 1

	mu       sync.Mutex
	attempts int // guarded by mu
}

func (o *outage) Follow(ctx context.Context, notify func(api.Position)) error {
	o.mu.Lock()
	o.attempts++
	o.mu.Unlock()
	if time.Now().Before(o.until) {
		return api.ErrOffline
	}
	notify(api.Position{Epoch: "e1"})
	o.up <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

// TestF25BackWithinTheOutage looks at many clients of one server
// that was gone: each is back within the length of the outage, they do not come
// together, and a long outage is not spent knocking.
func TestF25BackWithinTheOutage(t *testing.T) {
	t.Parallel()
	for _, gone := range []time.Duration{10 * time.Second, 10 * time.Minute, 24 * time.Hour} {
		t.Run(gone.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const clients = 50
				attempts := 0
				seen := make(map[time.Duration]bool)
				for range clients {
					r := newRig(t)
					r.remote.before = func(string, api.Batch) error { return errors.New("down") }
					begun := time.Now()
					o := &outage{remote: r.remote, until: begun.Add(gone), up: make(chan struct{}, 1)}
					e := teamsync.New(teamsync.Options{Tree: r.tree, Disk: r.tree, Remote: o, State: r.state, Guard: guards{}, Timing: teamsync.Timing{Poll: 100 * time.Hour}})
					ctx, stop := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() { ended <- e.Run(ctx) }()
					<-o.up
					late := time.Since(begun) - gone
					if late > min(gone, 2*time.Minute)+time.Second {
						t.Errorf("back %s after an outage of %s", late, gone)
					}
					seen[late.Round(100*time.Millisecond)] = true
					attempts += o.attempts
					stop()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
				if len(seen) < clients/4 {
					t.Errorf("%d clients came back at %d moments", clients, len(seen))
				}
				if most := 20 + int(gone/(30*time.Second)); attempts/clients > most {
					t.Errorf("%d attempts in %s, want at most %d", attempts/clients, gone, most)
				}
				t.Logf("%d attempts in %s", attempts/clients, gone)
			})
		})
	}
}
