// Command teeth proves that the suites bite: it plants one mistake after the
// other in the engine and at its edges (package planted), runs the suites that
// guard against it, and wants one of them to fail by an assertion of its own. A
// suite that fails without a mistake, or by running out of time, proves nothing.
//
//	go run ./tests/teeth                      # all mistakes
//	go run ./tests/teeth -only 'state|fsync'  # some, by name
//	go run ./tests/teeth -all                 # every guard of each, not the first that bites
//	go run ./tests/teeth -markdown            # the table of docs/proof.md; runs nothing
//
// It runs at the top of the repository. Its exit code is 0 when every mistake was
// caught, otherwise 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"time"
)

func main() {
	only := flag.String("only", "", "`regexp` of the mistakes to plant")
	all := flag.Bool("all", false, "run every guard, and want each to bite")
	asTable := flag.Bool("markdown", false, "print the table of mistakes and their guards")
	flag.Parse()
	if *asTable {
		_, _ = io.WriteString(os.Stdout, markdown(mistakes))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *only, *all)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "teeth: %v\n", err)
		os.Exit(1)
	}
}

// run plants the chosen mistakes. Its error says what was not caught.
func run(ctx context.Context, out io.Writer, only string, all bool) error {
	chosen, err := choose(only)
	if err != nil {
		return err
	}
	begun := time.Now()
	dir, err := os.MkdirTemp("", "teammemd-teeth-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	lab := &lab{dir: dir, out: out}
	if err := lab.build(ctx, chosen); err != nil {
		return err
	}
	fmt.Fprintf(out, "built in %s\n", seconds(time.Since(begun)))
	if err := lab.sound(ctx, chosen); err != nil {
		return err
	}
	caught := 0
	for _, m := range chosen {
		ok, err := lab.plant(ctx, m, all)
		if err != nil {
			return err
		}
		if ok {
			caught++
		}
	}
	fmt.Fprintf(out, "FIGURE %d of %d planted mistakes were caught, in %s\n", caught, len(chosen), seconds(time.Since(begun)))
	if caught < len(chosen) {
		return fmt.Errorf("%d planted mistakes were not caught", len(chosen)-caught)
	}
	return nil
}

func choose(only string) ([]mistake, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("reading -only: %w", err)
	}
	var chosen []mistake
	for _, m := range mistakes {
		if pattern.MatchString(string(m.bug)) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no mistake is called %q", only)
	}
	return chosen, nil
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
