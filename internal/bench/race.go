package bench

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/teammem/teammemd/api"
)

// Race is what [Survive] does.
type Race struct {
	Rounds int // how often the files are edited
	Files  int // how many there are
}

// Survive edits the same files on both hosts as close together as the machine
// can, waits until all is at rest, and counts what is left of the edits. It
// returns a result for each program, teammemd first. The error wraps
// [api.ErrUsage] for less than one round or file; an end of ctx is an error, its
// cause unless a command was just running. Measurements at the same time do not
// see each other, but in their figures.
func Survive(ctx context.Context, o Options, r Race) (Report[RaceResult], error) {
	if r.Rounds < 1 || r.Files < 1 {
		return Report[RaceResult]{}, fmt.Errorf("%w: %d rounds of %d files measure nothing", api.ErrUsage, r.Rounds, r.Files)
	}
	return measure(ctx, o, func(ctx context.Context, c contender) ([]RaceResult, error) {
		result, err := r.run(ctx, c)
		return []RaceResult{result}, err
	})
}

// run races a contender that has begun.
func (r Race) run(ctx context.Context, c contender) (RaceResult, error) {
	total := RaceResult{Name: c.name(), Rounds: r.Rounds}
	if err := r.seed(ctx, c); err != nil {
		return total, err
	}
	for round := range r.Rounds {
		if err := r.round(ctx, c, round, &total); err != nil {
			return total, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return total, nil
}

// seed gives both sides the same files. They go through the contender, as they
// would in daily life.
func (r Race) seed(ctx context.Context, c contender) error {
	texts := make([]string, r.Files)
	for i := range texts {
		texts[i] = noteText("the beginning", i)
	}
	dirs := c.dirs()
	if err := writeAll(dirs[0], texts); err != nil {
		return err
	}
	_, err := r.settle(ctx, c, func(sides [2]snapshot) bool {
		return len(sides[0]) == r.Files && maps.Equal(sides[0], sides[1])
	})
	return err
}

// round edits every file on both sides, waits, and adds what became of it.
func (r Race) round(ctx context.Context, c contender, round int, total *RaceResult) error {
	var o outcome
	for side := range o.edits {
		for i := range r.Files {
			o.edits[side] = append(o.edits[side], noteText(fmt.Sprintf("side %d in round %d", side, round), i))
		}
	}
	took, err := editBoth(c.dirs(), o.edits)
	if err != nil {
		return err
	}
	written := time.Now()
	total.Within = max(total.Within, inMS(took))
	rested, err := r.settle(ctx, c, nil)
	if err != nil {
		return err
	}
	total.Settled = max(total.Settled, inMS(rested.Sub(written)))
	if o.sides, err = readBoth(c.dirs()); err != nil {
		return err
	}
	k, keeps := c.(keeper)
	if keeps {
		if o.copies, err = k.saved(ctx); err != nil {
			return err
		}
	}
	total.add(o)
	if !keeps {
		return nil
	}
	return r.restoreAll(ctx, k, o.copies, total)
}

// restoreAll takes every copy back, and counts those that are then in place.
func (r Race) restoreAll(ctx context.Context, k keeper, copies []savedCopy, total *RaceResult) error {
	dirs := k.dirs()
	for _, c := range copies {
		if err := k.restore(ctx, c); err != nil {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dirs[c.side], c.key))
		if err != nil {
			return fmt.Errorf("looking for what was restored: %w", err)
		}
		if string(text) == c.text {
			total.Restorable++
		}
	}
	_, err := r.settle(ctx, k, nil)
	return err
}

// settle waits until the directories hold still, the contender says that it has
// nothing more to do, and also, where given, holds. It returns when the
// directories changed for the last time.
func (r Race) settle(ctx context.Context, c contender, also func([2]snapshot) bool) (since time.Time, err error) {
	var last [2]snapshot
	since = time.Now()
	err = until(ctx, waitLimit, 20*time.Millisecond, c.name()+" to settle", func() (bool, error) {
		sides, err := readBoth(c.dirs())
		if err != nil {
			return false, err
		}
		if !maps.Equal(sides[0], last[0]) || !maps.Equal(sides[1], last[1]) {
			last, since = sides, time.Now()
		}
		if also != nil && !also(sides) {
			return false, nil
		}
		return c.settled(ctx, time.Since(since))
	})
	return since, err
}
