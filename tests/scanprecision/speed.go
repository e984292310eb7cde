package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/cputime"
)

// printSpeed measures our scanner beside gitleaks on the same texts, and on
// texts of two other shapes alone.
func printSpeed(ctx context.Context, out io.Writer, begin start, bodies []body, budget int) error {
	texts, err := sample(bodies, budget)
	if err != nil {
		return err
	}
	total := size(texts)
	fmt.Fprintf(out, "megabytes for a second of processor time, %d texts, %.1f MB\n", len(texts), float64(total)/1e6)
	for _, c := range []struct {
		name   string
		rounds int // the slow ones, one: what the machine does beside is then little of it
		run    func(ctx context.Context, texts []string) (time.Duration, error)
	}{
		{"teammemd, everything on", 3, ours},
		{"gitleaks as a library, as it comes", 1, library},
		{"gitleaks as a command, as it comes", 1, command},
	} {
		used, err := best(c.rounds, func() (time.Duration, error) { return c.run(ctx, texts) })
		if err != nil {
			return fmt.Errorf("measuring %s: %w", c.name, err)
		}
		if used <= 0 {
			fmt.Fprintf(out, "  %-36s not measured on this system\n", c.name)
			continue
		}
		fmt.Fprintf(out, "  %-36s %6.1f\n", c.name, float64(total)/1e6/used.Seconds())
	}
	if err := printNotes(ctx, out, texts); err != nil {
		return err
	}
	if err := printWorst(ctx, out); err != nil {
		return err
	}
	fmt.Fprintf(out, "first scan of the process: %.1f ms; heap that it leaves: %.1f MB\n", milliseconds(begin.took), float64(begin.heap)/1e6)
	return nil
}

// best is the shortest of some rounds.
func best(rounds int, run func() (time.Duration, error)) (time.Duration, error) {
	least, err := run()
	for range rounds - 1 {
		var used time.Duration
		if err == nil {
			used, err = run()
			least = min(least, used)
		}
	}
	return least, err
}

// sample takes texts evenly from the bodies, up to budget bytes, as every
// contender takes them: valid text of a size that we scan.
func sample(bodies []body, budget int) ([]string, error) {
	var all []string
	for _, b := range bodies {
		_, err := b.each(func(_ file, text string) error {
			if len(text) <= scanner.DefaultMaxBytes && utf8.ValidString(text) {
				all = append(all, text)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	step := max(1, (size(all)+budget-1)/max(1, budget))
	var chosen []string
	for at := 0; at < len(all); at += step {
		chosen = append(chosen, all[at])
	}
	if len(chosen) == 0 {
		return nil, errors.New("no text to measure speed on")
	}
	return chosen, nil
}

func size(texts []string) int {
	total := 0
	for _, text := range texts {
		total += len(text)
	}
	return total
}

// ours scans with the whole scanner, as a push does.
func ours(ctx context.Context, texts []string) (time.Duration, error) {
	s := scanner.New(scanner.Options{})
	before := cputime.Used()
	for _, text := range texts {
		_, err := s.Scan(ctx, "note.md", text)
		if _, refused := errors.AsType[*scanner.Refusal](err); err != nil && !refused {
			return 0, err
		}
	}
	return cputime.Used() - before, nil
}

// library scans with gitleaks' own detector and its own configuration.
func library(_ context.Context, texts []string) (time.Duration, error) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return 0, err
	}
	before := cputime.Used()
	for _, text := range texts {
		detector.DetectString(text)
	}
	return cputime.Used() - before, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
