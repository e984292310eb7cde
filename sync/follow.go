package sync

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/teammem/teammemd/api"
)

// follow keeps a connection that brings notices, with full jitter between
// attempts, for as long as ctx lives.
func (e *Engine) follow(ctx context.Context) {
	wait := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second), backoff.WithRandomizationFactor(1),
		backoff.WithMaxInterval(time.Minute), backoff.WithMaxElapsedTime(0),
	)
	for ctx.Err() == nil {
		up := false
		err := e.opts.Remote.Follow(ctx, func(at api.Position) {
			if !up {
				up = true
				wait.Reset()
				e.post(Followed{true})
			}
			e.post(Noticed{at})
		})
		if up {
			e.post(Followed{false})
		}
		next := wait.NextBackOff()
		if errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrSignedOut) || errors.Is(err, api.ErrForbidden) {
			next += time.Minute // nothing to follow for now; the polls go on
		}
		for {
			roused, err := e.rest(ctx, next)
			if err != nil {
				return
			}
			if !roused {
				break
			}
			wait.Reset()
			next = wait.NextBackOff()
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
