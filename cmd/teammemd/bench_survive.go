package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
)

func (a *app) benchSurviveCommand() *cobra.Command {
	var f benchFlags
	race := race{}
	cmd := &cobra.Command{
		Use:   "survive",
		Short: "Edit the same files on two machines at once, and count what is left of the edits",
		Long: "Edit the same files on two machines at once, and count what is left of the\n" +
			"edits. Two daemons and a server run as processes of their own, in a temporary\n" +
			"directory and on loopback; nothing of yours is touched.\n\n" +
			"lost        edits that are in no team directory and in no saved copy\n" +
			"equal       files that end the same on both machines\n" +
			"extra       files in the team directories that nobody wrote there\n" +
			"copies      saved copies that are listed\n" +
			"restorable  saved copies that came back by 'conflicts restore'\n\n" +
			"The exit code is 1 when anything is lost, unequal, extra or not restorable.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchSurvive(cmd.Context(), f, race) },
	}
	f.register(cmd)
	cmd.Flags().IntVar(&race.rounds, "rounds", 1, "how many races")
	cmd.Flags().IntVar(&race.files, "files", 40, "how many files are edited in each")
	return cmd
}

// race is 'bench survive': what to do, and how long to wait.
type race struct {
	rounds, files int
}

// raceResult adds up the races of one contender.
type raceResult struct {
	Name       string  `json:"name"`
	Rounds     int     `json:"rounds"`
	Files      int     `json:"files"`
	Edits      int     `json:"edits"`
	Lost       int     `json:"lost"`
	Equal      int     `json:"equal"`
	Extra      int     `json:"extra"`
	Copies     int     `json:"copies"`
	Restorable int     `json:"restorable"`
	Within     float64 `json:"within_ms"`  // the widest time from first edit to last
	Settled    float64 `json:"settled_ms"` // the longest time from last edit to rest
}

// kept reports whether everything is as promised of teammemd.
func (r raceResult) kept() bool {
	return r.Lost == 0 && r.Equal == r.Files && r.Extra == 0 && r.Copies == r.Edits-r.Files && r.Restorable == r.Copies
}

func (a *app) benchSurvive(ctx context.Context, f benchFlags, race race) error {
	if err := f.check(map[string]int{"rounds": race.rounds, "files": race.files}); err != nil {
		return err
	}
	var results []raceResult
	absent, err := a.benchAll(ctx, f, func(ctx context.Context, c contender) error {
		result, err := race.run(ctx, c)
		results = append(results, result)
		return err
	})
	if err != nil {
		return err
	}
	if !results[0].kept() {
		a.worse(api.ExitFailure)
	}
	if a.json {
		return a.printJSON(newBenchAnswer(f, results, absent))
	}
	rows := make([][]string, 0, len(results))
	for _, r := range results {
		of := func(n int) string { return fmt.Sprintf("%d of %d", n, r.Files) }
		copies, restorable := "-", "-"
		if r.Name == results[0].Name {
			copies, restorable = strconv.Itoa(r.Copies), strconv.Itoa(r.Restorable)
		}
		rows = append(rows, []string{
			r.Name, strconv.Itoa(r.Edits), strconv.Itoa(r.Lost), of(r.Equal), strconv.Itoa(r.Extra), copies, restorable,
			fmt.Sprintf("%.1f ms", r.Within), fmt.Sprintf("%.1f s", r.Settled/1000),
		})
	}
	return a.benchTable("program | edits | lost | equal | extra | copies | restorable | written within | settled after", rows)
}

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

func raceKey(i int) string { return fmt.Sprintf("note-%04d.md", i) }

// raceText is plain prose, of the same length for every word and file, so that an
// edit in place is one write.
func raceText(who string, i int) string {
	return fmt.Sprintf("# Note %04d\n\nA word about a plain thing, said by %-28s.\n", i, who)
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

// leaves are the files of a directory with their texts.
type leaves map[string]string

func readBoth(dirs [2]string) (sides [2]leaves, err error) {
	for i, dir := range dirs {
		if sides[i], err = readLeaves(dir); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// readLeaves reads what an agent would see: hidden files are none of that.
func readLeaves(dir string) (leaves, error) {
	all := make(leaves)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return ignoreGone(err)
		case name != dir && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return ignoreGone(err)
		}
		rel, err := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the team directory: %w", err)
	}
	return all, nil
}

// ignoreGone forgives a file that was replaced while it was looked at.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// editBoth edits every file on both sides, in place and as close together as the
// machine can, and returns how long that took.
func editBoth(dirs [2]string, texts [2][]string) (took time.Duration, err error) {
	var files [2][]*os.File
	defer func() {
		for _, f := range slices.Concat(files[0], files[1]) {
			err = errors.Join(err, f.Close())
		}
	}()
	for side, dir := range dirs {
		for i := range texts[side] {
			f, err := os.OpenFile(filepath.Join(dir, raceKey(i)), os.O_WRONLY, 0)
			if err != nil {
				return 0, fmt.Errorf("opening a file to edit: %w", err)
			}
			files[side] = append(files[side], f)
		}
	}
	var ready, done sync.WaitGroup
	ready.Add(len(dirs))
	begun := make(chan struct{})
	var errs [2]error
	for side := range dirs {
		done.Go(func() {
			ready.Done()
			<-begun
			for i, f := range files[side] {
				if _, err := f.WriteAt([]byte(texts[side][i]), 0); err != nil {
					errs[side] = fmt.Errorf("editing: %w", err)
				}
			}
		})
	}
	ready.Wait()
	at := time.Now()
	close(begun)
	done.Wait()
	return time.Since(at), errors.Join(errs[:]...)
}

func writeAll(dir string, texts []string) error {
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, raceKey(i)), []byte(text), 0o600); err != nil {
			return fmt.Errorf("writing an edit: %w", err)
		}
	}
	return nil
}
