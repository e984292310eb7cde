package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"
)

// run races a contender that has begun.
func (r race) run(ctx context.Context, c contender) (raceResult, error) {
	total := raceResult{Name: c.name(), Rounds: r.rounds}
	if err := r.seed(ctx, c); err != nil {
		return total, err
	}
	for round := range r.rounds {
		if err := r.round(ctx, c, round, &total); err != nil {
			return total, fmt.Errorf("round %d: %w", round+1, err)
		}
	}
	return total, nil
}

// seed gives both sides the same files. They go through the contender, as they
// would in daily life.
func (r race) seed(ctx context.Context, c contender) error {
	texts := make([]string, r.files)
	for i := range texts {
		texts[i] = raceText("the beginning", i)
	}
	dirs := c.dirs()
	if err := writeAll(dirs[0], texts); err != nil {
		return err
	}
	_, err := r.settle(ctx, c, func(sides [2]leaves) bool {
		return len(sides[0]) == r.files && maps.Equal(sides[0], sides[1])
	})
	return err
}

// round edits every file on both sides and judges what becomes of it.
func (r race) round(ctx context.Context, c contender, round int, total *raceResult) error {
	var texts [2][]string
	for side := range texts {
		for i := range r.files {
			texts[side] = append(texts[side], raceText(fmt.Sprintf("side %d in round %d", side, round), i))
		}
	}
	took, err := editBoth(c.dirs(), texts)
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
	return r.judge(ctx, c, texts, total)
}

func (r race) judge(ctx context.Context, c contender, texts [2][]string, total *raceResult) error {
	sides, err := readBoth(c.dirs())
	if err != nil {
		return err
	}
	there, extra := make(map[string]bool), make(map[string]bool)
	for _, side := range sides {
		for key, text := range side {
			there[text], extra[key] = true, true
		}
	}
	for i := range r.files {
		delete(extra, raceKey(i))
	}
	var copies []keptCopy
	k, keeps := c.(keeper)
	if keeps {
		if copies, err = k.kept(ctx); err != nil {
			return err
		}
	}
	for _, kept := range copies {
		there[kept.text] = true
	}
	total.Files, total.Extra, total.Copies = total.Files+r.files, max(total.Extra, len(extra)), total.Copies+len(copies)
	for i := range r.files {
		if text, ok := sides[0][raceKey(i)]; ok && text == sides[1][raceKey(i)] {
			total.Equal++
		}
		for side := range texts {
			total.Edits++
			if !there[texts[side][i]] {
				total.Lost++
			}
		}
	}
	if !keeps {
		return nil
	}
	return r.restoreAll(ctx, k, copies, total)
}

// restoreAll takes every copy back, and counts those that are then in place.
func (r race) restoreAll(ctx context.Context, k keeper, copies []keptCopy, total *raceResult) error {
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

// raceLimit bounds how long a contender may take to come to rest.
const raceLimit = 90 * time.Second

// settle waits until the directories hold still, the contender says that it has
// nothing more to do, and also, where given, holds. It returns when the
// directories changed for the last time.
func (r race) settle(ctx context.Context, c contender, also func([2]leaves) bool) (since time.Time, err error) {
	var last [2]leaves
	since = time.Now()
	err = until(ctx, raceLimit, 20*time.Millisecond, c.name()+" to settle", func() (bool, error) {
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
