package sync

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/teammem/teammemd/api"
)

// Bounds of the wait before a lost connection is tried again.
const (
	followSoon = time.Second
	followLate = 2 * time.Minute
)

// tryAgainIn draws the wait before the next attempt to follow a server that has
// been gone for a while: uniform (full jitter) below that while. So the attempts
// get rarer, and whoever was without a server for ten seconds is back at most ten
// seconds after it, however unlucky the draws.
func tryAgainIn(gone time.Duration) time.Duration {
	return rand.N(max(followSoon, min(gone, followLate)))
}

// follow keeps a connection that brings notices, with full jitter between
// attempts, for as long as ctx lives.
func (e *Engine) follow(ctx context.Context) {
	lost := time.Now()
	for ctx.Err() == nil {
		up := false
		err := e.opts.Remote.Follow(ctx, func(at api.Position) {
			if !up {
				up = true
				e.post(Followed{Up: true})
			}
			e.post(Noticed{at})
		})
		if up {
			lost = time.Now()
			e.post(Followed{})
		}
		next := tryAgainIn(time.Since(lost))
		if errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrSignedOut) || errors.Is(err, api.ErrForbidden) {
			next += time.Minute // nothing to follow for now; the polls go on
			e.post(Followed{Refused: true})
		}
		for {
			roused, err := e.rest(ctx, next)
			if err != nil {
				return
			}
			if !roused {
				break
			}
			lost = time.Now()
			next = tryAgainIn(0)
		}
	}
}

// rest waits, and reports whether [Engine.Rouse] cut it short.
func (e *Engine) rest(ctx context.Context, d time.Duration) (roused bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-e.roused:
		return true, nil
	case <-timer.C:
		return false, nil
	}
}
