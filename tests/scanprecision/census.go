package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/teammem/teammemd/scanner"
)

// The most blocked texts in a thousand: by the two tiers that only a team policy
// lets pass, and by all that block.
const (
	maxStrict = 1.5
	maxAll    = 7.0
)

// tiers in the order in which they are shown.
var tiers = []scanner.Tier{scanner.Block1, scanner.Block2, scanner.Block3, scanner.Warn}

// kind is a rule as it stands in a finding.
type kind struct {
	tier scanner.Tier
	rule string
}

// tally counts one rule.
type tally struct{ findings, texts int }

// place is one finding of a blocking tier.
type place struct {
	name string // masked where a finding is in it
	kind kind
	line int
}

// census is what the scanner said of a body.
type census struct {
	name     string
	texts    int // that were judged
	bytes    int
	repeated int
	refused  map[string]int // by reason
	rules    map[kind]tally
	strict   int // texts blocked by tiers 1 and 2
	blocked  int // texts blocked by any tier
	places   []place
}

// count scans a body.
func count(ctx context.Context, b body) (*census, error) {
	c := &census{name: b.name, refused: make(map[string]int), rules: make(map[kind]tally)}
	s := scanner.New(scanner.Options{})
	var err error
	c.repeated, err = b.each(func(f file, text string) error {
		found, err := s.Scan(ctx, f.name, text)
		if refusal, refused := errors.AsType[*scanner.Refusal](err); refused {
			c.refused[refusal.Reason]++
			return nil
		}
		if err != nil {
			return err
		}
		c.add(f.name, len(text), found)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("scanning %s: %w", b.name, err)
	}
	return c, nil
}

// add counts one judged text.
func (c *census) add(name string, size int, found []scanner.Finding) {
	c.texts++
	c.bytes += size
	strict, blocked := false, false
	here := make(map[kind]int)
	for _, f := range found {
		k := kind{f.Tier, f.Rule}
		here[k]++
		if !f.Tier.Holds() {
			continue
		}
		blocked = true
		strict = strict || f.Tier != scanner.Block3
		c.places = append(c.places, place{scanner.MaskName(name, found), k, f.Line})
	}
	for k, n := range here {
		t := c.rules[k]
		c.rules[k] = tally{t.findings + n, t.texts + 1}
	}
	if strict {
		c.strict++
	}
	if blocked {
		c.blocked++
	}
}

// over reports whether more texts are blocked than may be.
func (c *census) over() bool {
	return perMille(c.strict, c.texts) > maxStrict || perMille(c.blocked, c.texts) > maxAll
}

func perMille(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return 1000 * float64(part) / float64(whole)
}

// print writes the census. With list, it names every place that blocks.
func (c *census) print(out io.Writer, list bool) {
	fmt.Fprintf(out, "%s: %d texts, %.1f MB; %d more repeat one of them\n", c.name, c.texts, float64(c.bytes)/1e6, c.repeated)
	for _, reason := range slices.Sorted(maps.Keys(c.refused)) {
		fmt.Fprintf(out, "  not judged  %-10s %6d\n", reason, c.refused[reason])
	}
	fmt.Fprintf(out, "  blocked by tiers 1 and 2  %5d texts  %6.2f per mille, at most %.1f\n", c.strict, perMille(c.strict, c.texts), maxStrict)
	fmt.Fprintf(out, "  blocked by any tier       %5d texts  %6.2f per mille, at most %.1f\n", c.blocked, perMille(c.blocked, c.texts), maxAll)
	fmt.Fprintf(out, "  %-8s %-40s %9s %6s\n", "tier", "rule", "findings", "texts")
	for _, k := range slices.SortedFunc(maps.Keys(c.rules), c.byWeight) {
		fmt.Fprintf(out, "  %-8s %-40s %9d %6d\n", k.tier, k.rule, c.rules[k].findings, c.rules[k].texts)
	}
	if !list {
		return
	}
	for _, p := range slices.Compact(c.places) {
		fmt.Fprintf(out, "  %s:%d  %s  %s\n", p.name, p.line, p.kind.rule, p.kind.tier)
	}
}

// byWeight sorts rules by tier, then by the texts that they are in.
func (c *census) byWeight(a, b kind) int {
	return cmp.Or(
		cmp.Compare(slices.Index(tiers, a.tier), slices.Index(tiers, b.tier)),
		cmp.Compare(c.rules[b].texts, c.rules[a].texts),
		cmp.Compare(a.rule, b.rule),
	)
}
