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
		if pause(ctx, next) != nil {
			return
		}
	}
}
