package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) benchLatencyCommand() *cobra.Command {
	var f benchFlags
	trials := 20
	cmd := &cobra.Command{
		Use:   "latency",
		Short: "Write a file on one machine, and wait until it is visible on another",
		Long: "Write a file on one machine, and wait until it is visible on another: two daemons\n" +
			"and a server as processes of their own, in a temporary directory and on loopback;\n" +
			"nothing of yours is touched. The debounce is part of what is measured; the row\n" +
			"\"server to client\" begins when the server has answered a write of its own.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchLatency(cmd.Context(), f, trials) },
	}
	f.register(cmd)
	cmd.Flags().IntVar(&trials, "trials", trials, "how many writes")
	return cmd
}

// latencyResult is what one way took, in milliseconds.
type latencyResult struct {
	Name   string  `json:"name"`
	Trials int     `json:"trials"`
	P50    float64 `json:"p50_ms"`
	P95    float64 `json:"p95_ms"`
	Min    float64 `json:"min_ms"`
	Max    float64 `json:"max_ms"`
}

// latencyOf sums up at least one time; quantiles are times that were measured.
func latencyOf(name string, took []time.Duration) latencyResult {
	slices.Sort(took)
	rank := func(percent int) float64 { return inMS(took[(len(took)*percent+99)/100-1]) }
	return latencyResult{name, len(took), rank(50), rank(95), inMS(took[0]), inMS(took[len(took)-1])}
}

func (a *app) benchLatency(ctx context.Context, f benchFlags, trials int) error {
	if err := f.check(map[string]int{"trials": trials}); err != nil {
		return err
	}
	var results []latencyResult
	absent, err := a.benchAll(ctx, f, func(ctx context.Context, c contender) error {
		got, err := latencies(ctx, c, trials)
		results = append(results, got...)
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(newBenchAnswer(f, results, absent))
	}
	rows := make([][]string, 0, len(results))
	for _, r := range results {
		s := func(ms float64) string { return fmt.Sprintf("%.3f s", ms/1000) }
		rows = append(rows, []string{r.Name, strconv.Itoa(r.Trials), s(r.P50), s(r.P95), s(r.Min), s(r.Max)})
	}
	return a.benchTable("from write to visible | trials | p50 | p95 | min | max", rows)
}

// slow is a contender whose trials take so long that a few must do.
type slow interface{ mostTrials() int }

// latencies measures a contender that has begun.
func latencies(ctx context.Context, c contender, trials int) ([]latencyResult, error) {
	if s, ok := c.(slow); ok {
		trials = min(trials, s.mostTrials())
	}
	dirs := c.dirs()
	took := make([]time.Duration, 0, trials)
	for i := range trials {
		begun := time.Now()
		text := raceText(fmt.Sprintf("trial %d", i), i%40)
		if err := os.WriteFile(filepath.Join(dirs[0], raceKey(i%40)), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("writing: %w", err)
		}
		if err := awaitText(ctx, filepath.Join(dirs[1], raceKey(i%40)), text); err != nil {
			return nil, fmt.Errorf("trial %d: %w", i+1, err)
		}
		took = append(took, time.Since(begun))
		if err := between(ctx, i); err != nil {
			return nil, err
		}
	}
	results := []latencyResult{latencyOf(c.name(), took)}
	t, ok := c.(*theTeam)
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

func awaitText(ctx context.Context, name, text string) error {
	return until(ctx, raceLimit, time.Millisecond, "the text to arrive", func() (bool, error) {
		got, err := os.ReadFile(name)
		return string(got) == text, ignoreGone(err)
	})
}

// fromServer measures the way from the server's answer to a write until the text
// is visible on a machine.
func (t *theTeam) fromServer(ctx context.Context, trials int) (latencyResult, error) {
	client, err := t.writer()
	if err != nil {
		return latencyResult{}, err
	}
	took := make([]time.Duration, 0, trials)
	for i := range trials {
		text := raceText(fmt.Sprintf("the server in trial %d", i), i%40)
		key, err := api.ParseKey(fmt.Sprintf("from-server-%04d.md", i))
		if err != nil {
			return latencyResult{}, err
		}
		if err := pushOne(ctx, client, key, text); err != nil {
			return latencyResult{}, err
		}
		begun := time.Now()
		if err := awaitText(ctx, filepath.Join(t.sides[1].team(), key.String()), text); err != nil {
			return latencyResult{}, err
		}
		took = append(took, time.Since(begun))
		if err := between(ctx, i); err != nil {
			return latencyResult{}, err
		}
	}
	return latencyOf("server to client", took), nil
}

func pushOne(ctx context.Context, client *remote.Client, key api.Key, text string) error {
	_, err := client.Push(ctx, api.Batch{Entries: []api.Outgoing{{Key: key, Content: text, Sum: api.SumString(text)}}})
	return err
}
