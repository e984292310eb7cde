package bench

import (
	"context"
	"fmt"
	"os"
	"time"
)

// waitLimit bounds how long a contender may take to come to rest, or a text to
// arrive.
const waitLimit = 90 * time.Second

// until polls done every step until it holds.
func until(ctx context.Context, limit, step time.Duration, what string, done func() (bool, error)) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return fmt.Errorf("waited %s for %s", limit, what)
		case <-ticker.C:
		}
	}
}

// awaitText waits until a file holds a text.
func awaitText(ctx context.Context, name, text string) error {
	return until(ctx, waitLimit, time.Millisecond, "the text to arrive", func() (bool, error) {
		got, err := os.ReadFile(name)
		return string(got) == text, ignoreGone(err)
	})
}
