package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/internal/planted"
)

// limit bounds one run of a guard.
const limit = 3 * time.Minute

// lab has the suites, built once with the mistakes in them.
type lab struct {
	dir string
	out io.Writer
}

// suitesOf returns the suites that guard against any of the mistakes.
func suitesOf(chosen []mistake) []string {
	var suites []string
	for _, m := range chosen {
		for _, g := range m.guards {
			suites = append(suites, g.suite)
		}
	}
	slices.Sort(suites)
	return slices.Compact(suites)
}

// build compiles what the mistakes need.
func (l *lab) build(ctx context.Context, chosen []mistake) error {
	for _, suite := range suitesOf(chosen) {
		if err := goTool(ctx, "test", "-c", "-tags", "planted", "-o", l.binary(suite), "./"+suite); err != nil {
			return fmt.Errorf("building the suite %s: %w", suite, err)
		}
		if suite != whole {
			continue
		}
		if err := goTool(ctx, "build", "-tags", "planted", "-o", l.program(), "./cmd/teammemd"); err != nil {
			return fmt.Errorf("building the program: %w", err)
		}
	}
	return nil
}

func goTool(ctx context.Context, args ...string) error {
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (l *lab) binary(suite string) string {
	return filepath.Join(l.dir, strings.ReplaceAll(suite, "/", "-")+".test")
}

func (l *lab) program() string { return filepath.Join(l.dir, "teammemd") }

// sound runs every suite once without a mistake: all guards together.
func (l *lab) sound(ctx context.Context, chosen []mistake) error {
	for _, suite := range suitesOf(chosen) {
		var tests []string
		for _, m := range chosen {
			for _, g := range m.guards {
				if g.suite == suite {
					tests = append(tests, g.tests)
				}
			}
		}
		begun := time.Now()
		args := arguments[suite]
		if suite == sim {
			args = soundSeeds
		}
		got, err := l.try(ctx, guard{suite, strings.Join(tests, "|")}, "", args)
		if err != nil {
			return err
		}
		if got.end != passed {
			return fmt.Errorf("the suite %s fails without a mistake, so its failures prove nothing: %s\n%s", suite, got, got.output)
		}
		fmt.Fprintf(l.out, "sound   %-20s %-16s %s\n", "no mistake", suite, seconds(time.Since(begun)))
	}
	return nil
}

// plant puts one mistake in and reports whether it was caught: by the first guard
// that bites, or by every one.
func (l *lab) plant(ctx context.Context, m mistake, all bool) (caught bool, err error) {
	missed := 0
	for _, g := range m.guards {
		begun := time.Now()
		got, err := l.try(ctx, g, m.bug, arguments[g.suite])
		if err != nil {
			return false, err
		}
		if got.end == bitten && got.seed != "" {
			if err := l.control(ctx, g, got.seed); err != nil {
				return false, err
			}
		}
		word := "caught"
		if got.end != bitten {
			word = "missed"
			missed++
		}
		fmt.Fprintf(l.out, "%-7s %-20s %-16s %-44s %s\n", word, m.bug, g.suite, got, seconds(time.Since(begun)))
		if got.end == bitten && !all {
			return true, nil
		}
	}
	if caught = all && missed == 0; !caught {
		fmt.Fprintf(l.out, "NOT CAUGHT %s\n", m.bug)
	}
	return caught, nil
}

// control runs the seed that failed once more, without the mistake.
func (l *lab) control(ctx context.Context, g guard, seed string) error {
	got, err := l.try(ctx, g, "", []string{"-first", seed, "-seeds", "1"})
	if err == nil && got.end != passed {
		err = fmt.Errorf("seed %s of %s fails without the mistake as well: %s", seed, g.suite, got)
	}
	return err
}

// try runs a guard. An error says that it could not be run at all.
func (l *lab) try(ctx context.Context, g guard, bug planted.Bug, args []string) (verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	args = append([]string{"-test.v", "-test.failfast", "-test.run", g.tests, "-test.timeout", limit.String()}, args...)
	cmd := exec.CommandContext(ctx, l.binary(g.suite), args...)
	cmd.Dir, cmd.WaitDelay = g.suite, 5*time.Second
	cmd.Env = append(os.Environ(), planted.Variable+"="+string(bug), "TEAMMEMD_TEST_BINARY="+l.program())
	out, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return verdict{}, fmt.Errorf("running the suite %s: %w", g.suite, err)
	}
	return judge(string(out), err == nil), nil
}
