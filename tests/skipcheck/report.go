package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// event is one line of "go test -json"; see "go doc test2json".
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// summary counts what was read.
type summary struct {
	failed    bool // a test, a package or a build
	skipped   int
	forbidden int // skips that are not permitted
}

// report prints as it reads: a package's closing line comes when the package
// ends, not when all have.
type report struct {
	out     io.Writer
	list    []permitted
	figures bool // print what passing tests measured

	said map[string][]string // what each running test printed, by full name
	sum  summary
}

func newReport(out io.Writer, list []permitted) *report {
	return &report{out: out, list: list, said: map[string][]string{}}
}

// read reads events to the end of in. A line that is no event is passed on: the
// go command prints some of its own complaints as plain text.
func (r *report) read(in io.Reader) (summary, error) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.take(e)
			} else {
				r.print(string(line))
			}
		}
		if err == io.EOF {
			r.finish()
			return r.sum, nil
		}
		if err != nil {
			return r.sum, fmt.Errorf("reading test events: %w", err)
		}
	}
}

func (r *report) take(e event) {
	name := e.Package + "." + e.Test
	switch e.Action {
	case "build-output":
		r.print(e.Output)
	case "build-fail":
		r.sum.failed = true
	case "output":
		r.output(name, e)
	case "pass":
		if r.figures {
			r.quote(name)
		}
		delete(r.said, name)
	case "skip":
		r.skip(name, e)
	case "fail":
		r.sum.failed = true
		r.flush(name)
	}
}

// output keeps what a test says until its result is known. What a package says
// itself is kept as well, except for its closing line.
func (r *report) output(name string, e event) {
	if e.Test == "" && isClosing(e.Output) {
		r.print(e.Output)
		return
	}
	r.said[name] = append(r.said[name], e.Output)
}

// isClosing reports whether line is the last that "go test" prints of a package.
func isClosing(line string) bool {
	return strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "?   \t")
}

func (r *report) skip(name string, e event) {
	said := r.said[name]
	delete(r.said, name)
	if e.Test == "" {
		return // a package without tests
	}
	r.sum.skipped++
	if reason := reasonFor(r.list, name, why(said)); reason != "" {
		r.print(fmt.Sprintf("SKIP %s: %s (permitted: %s)\n", name, why(said), reason))
		return
	}
	r.sum.forbidden++
	r.print(fmt.Sprintf("SKIP %s: %s (NOT in the list of permitted skips)\n", name, why(said)))
}

// why is what a test said when it skipped itself, on one line.
func why(said []string) string {
	var words []string
	for _, line := range said {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "--- SKIP") {
			words = append(words, line)
		}
	}
	if len(words) == 0 {
		return "no reason given"
	}
	return strings.Join(words, " ")
}

// quote prints the figures that a test logged: lines of the form
// "    x_test.go:7: FIGURE 20 histories".
func (r *report) quote(name string) {
	for _, line := range r.said[name] {
		if _, figure, ok := strings.Cut(line, "_test.go:"); ok {
			if _, figure, ok = strings.Cut(figure, ": FIGURE "); ok {
				r.print("FIGURE " + figure)
			}
		}
	}
}

// flush prints what a failing test said.
func (r *report) flush(name string) {
	for _, line := range r.said[name] {
		if !strings.HasPrefix(line, "=== ") {
			r.print(line)
		}
	}
	delete(r.said, name)
}

// finish prints what tests said that never ended: the process died under them.
func (r *report) finish() {
	for name := range r.said {
		r.flush(name)
	}
	if r.sum.skipped > 0 {
		r.print(fmt.Sprintf("%d skipped, %d of them not permitted\n", r.sum.skipped, r.sum.forbidden))
	}
}

func (r *report) print(text string) { _, _ = io.WriteString(r.out, text) }
