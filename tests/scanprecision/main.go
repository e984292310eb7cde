// Command scanprecision measures what the secret scanner does to real
// documentation: how many files it would hold that hold no secret, and how much
// processor time it takes beside gitleaks, whose rules it began with.
//
//	go run ./tests/scanprecision                  # the Markdown of the Go module cache
//	go run ./tests/scanprecision DIR...           # and a second body: the Markdown of these folders
//	go run ./tests/scanprecision -list DIR...     # and every blocked file, with rules and lines
//
// It prints names of files, rules and lines, never a value. Its exit code is 0
// when each body keeps the bounds of false alarms, otherwise 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// options say what to scan and what to measure.
type options struct {
	cache  bool // the Go module cache
	list   bool
	speed  bool
	budget int // bytes of text that the speeds are measured on
	dirs   []string
}

// errOver says that a body has more blocked files than it may.
var errOver = errors.New("more files are blocked than may be")

func main() {
	o := options{budget: 16_000_000}
	flag.BoolVar(&o.cache, "cache", true, "scan the Go module cache")
	flag.BoolVar(&o.list, "list", false, "name every blocked file, with rules and lines")
	flag.BoolVar(&o.speed, "speed", true, "measure speed and memory too")
	flag.Parse()
	o.dirs = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "scanprecision: %v\n", err)
		os.Exit(1)
	}
}

// run measures and prints. Its error is [errOver] when all was measured, and a
// body is over its bounds.
func run(ctx context.Context, out io.Writer, o options) error {
	// The first scan has to be the process's first.
	begin, err := measureStart(ctx)
	if err != nil {
		return err
	}
	bodies, err := bodiesOf(ctx, o)
	if err != nil {
		return err
	}
	over := false
	for _, b := range bodies {
		c, err := count(ctx, b)
		if err != nil {
			return err
		}
		c.print(out, o.list)
		over = over || c.over()
	}
	if o.speed {
		if err := printSpeed(ctx, out, begin, bodies, o.budget); err != nil {
			return err
		}
	}
	if over {
		return errOver
	}
	return nil
}
