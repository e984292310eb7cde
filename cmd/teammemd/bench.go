package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
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

// contender is a program that keeps two directories equal.
type contender interface {
	// name says which program, and how it is set where that matters.
	name() string
	// begin starts it over two empty directories.
	begin(ctx context.Context, r *rig) error
	// dirs are the two directories.
	dirs() [2]string
	// settled reports whether nothing is under way any more, as far as the
	// program says so; still is how long both directories have not changed.
	settled(ctx context.Context, still time.Duration) (bool, error)
}

// keeper is a contender that keeps copies of what it displaced.
type keeper interface {
	contender
	// kept lists the copies on both sides that were not listed before.
	kept(ctx context.Context) ([]keptCopy, error)
	// restore puts a copy back where it was, as a person would.
	restore(ctx context.Context, c keptCopy) error
}

// keptCopy is one copy of displaced text.
type keptCopy struct {
	side          int // index of the directory that it was displaced from
	id, key, text string
}

// missing is a program that could not be compared with.
type missing struct {
	Program string `json:"program"`
	Package string `json:"package"` // of Debian
}

// benchAll measures one contender after the other, each with a place of its
// own that is gone when its turn is over.
func (a *app) benchAll(ctx context.Context, f benchFlags, measure func(context.Context, contender) error) ([]missing, error) {
	all := []contender{newTeam(f.debounce)}
	var absent []missing
	if f.compare {
		peers, without := findPeers()
		all, absent = append(all, peers...), without
	}
	for _, m := range absent {
		a.sayf("teammemd: %s is not installed; on Debian: apt-get install %s\n", m.Program, m.Package)
	}
	for _, c := range all {
		if err := a.benchOne(ctx, c, measure); err != nil {
			return absent, fmt.Errorf("measuring %s: %w", c.name(), err)
		}
	}
	return absent, nil
}

func (a *app) benchOne(ctx context.Context, c contender, measure func(context.Context, contender) error) error {
	r, err := newRig()
	if err != nil {
		return err
	}
	a.sayf("teammemd: measuring %s\n", c.name())
	err = c.begin(ctx, r)
	if err == nil {
		err = measure(ctx, c)
	}
	return errors.Join(err, r.close())
}

// benchAnswer is what both verbs print with --json.
type benchAnswer[T any] struct {
	Schema   int       `json:"schema"`
	Machine  string    `json:"machine"`
	Debounce float64   `json:"debounce_ms"`
	Results  []T       `json:"results"`
	Missing  []missing `json:"missing"`
}

func newBenchAnswer[T any](f benchFlags, results []T, absent []missing) benchAnswer[T] {
	if absent == nil {
		absent = []missing{}
	}
	return benchAnswer[T]{schema, thisMachine(), inMS(f.debounce), results, absent}
}

// thisMachine tells what figures of this machine can be compared with.
func thisMachine() string {
	return fmt.Sprintf("%s/%s, %d cores, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// benchTable prints figures of several contenders below each other.
func (a *app) benchTable(head string, rows [][]string) error {
	table := tabwriter.NewWriter(a.out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, strings.ReplaceAll(head, " | ", "\t"))
	for _, row := range rows {
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	return table.Flush()
}

// inMS is a duration as it stands in JSON: milliseconds, to the microsecond.
func inMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
