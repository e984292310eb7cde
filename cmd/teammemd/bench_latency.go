package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/internal/bench"
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

func (a *app) benchLatency(ctx context.Context, f benchFlags, trials int) error {
	if err := f.check(map[string]int{"trials": trials}); err != nil {
		return err
	}
	o, err := a.benchOptions(f)
	if err != nil {
		return err
	}
	report, err := bench.Latency(ctx, o, trials)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(benchAnswer[bench.LatencyResult]{schema, report})
	}
	rows := make([][]string, 0, len(report.Results))
	for _, r := range report.Results {
		s := func(ms float64) string { return fmt.Sprintf("%.3f s", ms/1000) }
		rows = append(rows, []string{r.Name, strconv.Itoa(r.Trials), s(r.P50), s(r.P95), s(r.Min), s(r.Max)})
	}
	return a.benchTable("from write to visible | trials | p50 | p95 | min | max", rows)
}
