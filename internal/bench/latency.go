package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// LatencyResult is what one way took, in milliseconds to the microsecond. The
// quantiles are times that were measured.
type LatencyResult struct {
	Name   string  `json:"name"`
	Trials int     `json:"trials"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
	Min    float64 `json:"min_ms"`
	Max    float64 `json:"max_ms"`
}

// latencyOf sums up at least one time; quantiles are times that were measured.
func latencyOf(name string, took []time.Duration) LatencyResult {
	slices.Sort(took)
	rank := func(percent int) float64 { return inMS(took[(len(took)*percent+99)/100-1]) }
	return LatencyResult{name, len(took), rank(50), rank(95), inMS(took[0]), inMS(took[len(took)-1])}
}

// Latency writes a file on one host and waits until it is visible on the other,
// trials times for each program; where one is slow, less often. The debounce is
// part of it. teammemd has a second result, "server to client", which begins when
// the server has answered a write. The error wraps [api.ErrUsage] for less than
// one trial; an end of ctx is an error as in [Survive].
func Latency(ctx context.Context, o Options, trials int) (Report[LatencyResult], error) {
	if trials < 1 {
		return Report[LatencyResult]{}, fmt.Errorf("%w: %d trials measure nothing", api.ErrUsage, trials)
	}
	return measure(ctx, o, func(ctx context.Context, c contender) ([]LatencyResult, error) {
		return latencies(ctx, c, trials)
	})
}

// latencies measures a contender that has begun.
func latencies(ctx context.Context, c contender, trials int) ([]LatencyResult, error) {
	if s, ok := c.(slow); ok {
		trials = min(trials, s.mostTrials())
	}
	dirs := c.dirs()
	took := make([]time.Duration, 0, trials)
	for i := range trials {
		begun := time.Now()
		text := noteText(fmt.Sprintf("trial %d", i), i%40)
		if err := os.WriteFile(filepath.Join(dirs[0], noteKey(i%40)), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("writing: %w", err)
		}
		if err := awaitText(ctx, filepath.Join(dirs[1], noteKey(i%40)), text); err != nil {
			return nil, fmt.Errorf("trial %d: %w", i+1, err)
		}
		took = append(took, time.Since(begun))
		if err := between(ctx, i); err != nil {
			return nil, err
		}
	}
	results := []LatencyResult{latencyOf(c.name(), took)}
	t, ok := c.(*team)
	if !ok {
		return results, nil
	}
	fromServer, err := t.fromServer(ctx, trials)
	return append(results, fromServer), err
}

// between lets all come to rest after a trial, and not always for as long, so
// that what happens at regular times does not fall on every trial or on none.
func between(ctx context.Context, i int) error {
	timer := time.NewTimer(200*time.Millisecond + time.Duration(i%7)*29*time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// fromServer measures the way from the server's answer to a write until the text
// is visible on a machine.
func (t *team) fromServer(ctx context.Context, trials int) (LatencyResult, error) {
	server, err := t.sides[0].client.Server()
	if err != nil {
		return LatencyResult{}, err
	}
	took := make([]time.Duration, 0, trials)
	for i := range trials {
		text := noteText(fmt.Sprintf("the server in trial %d", i), i%40)
		key, err := api.ParseKey(fmt.Sprintf("from-server-%04d.md", i))
		if err != nil {
			return LatencyResult{}, err
		}
		if err := pushOne(ctx, server, key, text); err != nil {
			return LatencyResult{}, err
		}
		begun := time.Now()
		if err := awaitText(ctx, filepath.Join(t.sides[1].teamDir(), key.String()), text); err != nil {
			return LatencyResult{}, err
		}
		took = append(took, time.Since(begun))
		if err := between(ctx, i); err != nil {
			return LatencyResult{}, err
		}
	}
	return latencyOf("server to client", took), nil
}

func pushOne(ctx context.Context, server Pusher, key api.Key, text string) error {
	_, err := server.Push(ctx, api.Batch{Entries: []api.Outgoing{{Key: key, Content: text, Sum: api.SumString(text)}}})
	return err
}
