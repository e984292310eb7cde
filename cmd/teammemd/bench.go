package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/bench"
	"github.com/teammem/teammemd/internal/control"
)

func (a *app) benchCommand() *cobra.Command {
	return group("bench", "Measure on this machine what the documentation promises", a.benchSurviveCommand(), a.benchLatencyCommand())
}

// benchFlags are what every measurement takes.
type benchFlags struct {
	debounce time.Duration
	compare  bool
}

func (f *benchFlags) register(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&f.debounce, "debounce", 2*time.Second, "how long the daemons wait for quiet")
	cmd.Flags().BoolVar(&f.compare, "compare", false, "measure syncthing and unison too, where they are installed")
}

// check judges the flags before anything is started.
func (f *benchFlags) check(counts map[string]int) error {
	for name, n := range counts {
		if n < 1 || n > 10_000 {
			return fmt.Errorf("%w: --%s is a number from 1 to 10000", api.ErrUsage, name)
		}
	}
	if f.debounce < 10*time.Millisecond || f.debounce > time.Minute {
		return fmt.Errorf("%w: --debounce is from 10ms to 1m", api.ErrUsage)
	}
	return nil
}

// benchOptions lets a measurement start this program, and ask its daemons and
// its server the way that every verb does.
func (a *app) benchOptions(f benchFlags) (bench.Options, error) {
	program, err := os.Executable()
	if err != nil {
		return bench.Options{}, fmt.Errorf("finding the program itself: %w", err)
	}
	return bench.Options{
		Program: program, TempDir: os.TempDir(), Debounce: f.debounce, Compare: f.compare,
		Client: func(getenv func(string) string) (bench.Client, error) {
			m, err := (&app{getenv: getenv}).machine()
			return benchClient{m}, err
		},
		Progress: func(line string) { a.sayf("teammemd: %s\n", line) },
	}, nil
}

// benchClient is the client of a machine that is measured; a [bench.Client].
type benchClient struct{ machine machine }

func (c benchClient) Status(ctx context.Context) (control.Status, error) {
	daemon, err := c.machine.daemon(ctx)
	if err != nil {
		return control.Status{}, err
	}
	return daemon.Status(ctx)
}

func (c benchClient) Server() (bench.Pusher, error) {
	roots, err := c.machine.roots()
	if err != nil {
		return nil, err
	}
	if len(roots) != 1 {
		return nil, fmt.Errorf("%w: %d roots are registered", api.ErrConfig, len(roots))
	}
	return c.machine.dial(roots[0])
}

// benchAnswer is what both verbs print with --json.
type benchAnswer[T any] struct {
	Schema int `json:"schema"`
	bench.Report[T]
}

// benchTable prints figures of several programs below each other.
func (a *app) benchTable(head string, rows [][]string) error {
	table := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, strings.ReplaceAll(head, " | ", "\t"))
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}
