package memdir

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
)

// between is the time between the two reads of [api.Reading].Twice.
const between = 20 * time.Millisecond

// Snapshot lists the files that take part and those that are held, as the
// engine's Tree asks. Unchanged files are not read again unless how.Full is
// set. With how.Twice all young files share one wait.
func (t *Tree) Snapshot(ctx context.Context, how api.Reading) (api.Snapshot, error) {
	t.sweep(ctx, grace)
	root, err := t.openRoot()
	if err != nil {
		return api.Snapshot{}, err
	}
	defer root.release()
	if err := t.claim(root); err != nil {
		return api.Snapshot{}, err
	}
	t.retryLeftovers(ctx)
	s := t.newScan(how)
	all, err := s.run(ctx, func(ctx context.Context) error { return s.walk(ctx, root, "", 0) }, s.first)
	if err == nil {
		all, err = t.readAgain(ctx, root, how, all)
	}
	if err != nil {
		return api.Snapshot{}, fmt.Errorf("scanning team directory %q: %w", t.root, err)
	}
	t.remember(all)
	return t.assemble(all), nil
}

// readAgain settles the young files by a second read, and returns all of found.
func (t *Tree) readAgain(ctx context.Context, root *dir, how api.Reading, all []found) ([]found, error) {
	young := map[string]found{}
	rest := all[:0]
	for _, f := range all {
		if f.plain && f.held == nil && !f.settled {
			young[f.path] = f
			continue
		}
		rest = append(rest, f)
	}
	if len(young) == 0 {
		return rest, nil
	}
	if err := wait(ctx, between); err != nil {
		return nil, err
	}
	s := t.newScan(how)
	again, err := s.run(ctx, func(ctx context.Context) error { return s.feedYoung(ctx, root, young) },
		func(r *reader, b batch, name string) (found, bool) {
			return s.second(r, b, name, young[path.Join(b.parent, name)])
		})
	return append(rest, again...), err
}

// feedYoung sends the young files to the workers, directory by directory.
func (s *scan) feedYoung(ctx context.Context, root *dir, young map[string]found) error {
	parents := map[string][]string{}
	for rel := range young {
		parent, name := splitKey(rel)
		parents[parent] = append(parents[parent], name)
	}
	for parent, names := range parents {
		d, err := root.onDisk(parent)
		if err != nil {
			// The directory went away, or was replaced, within the wait.
			for _, name := range names {
				f := young[path.Join(parent, name)]
				f.held, f.sum = unstable(), api.Checksum{}
				s.walked = append(s.walked, f)
			}
			continue
		}
		err = s.send(ctx, d, parent, names)
		d.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// remember keeps what this scan learned for the next one, and nothing else.
func (t *Tree) remember(all []found) {
	t.cache = make(map[string]cached, len(all))
	for _, f := range all {
		if !f.plain {
			continue
		}
		if f.held != nil && f.held.Reason != api.HeldNotText {
			// Not read, or not whole: only the mark and its age are known.
			f.cached = cached{mark: f.mark, key: f.key, seen: f.seen}
		}
		t.cache[f.path] = f.cached
	}
}

// assemble chooses among twins and sorts.
func (t *Tree) assemble(all []found) api.Snapshot {
	snap := api.Snapshot{Files: make([]api.Local, 0, len(all))}
	t.spelled = map[api.Key]string{}
	t.holdTwins(all)
	for _, f := range all {
		if f.plain && f.key.String() != f.path && !isTwin(f) {
			t.spelled[f.key] = f.path
		}
		if f.held == nil {
			snap.Files = append(snap.Files, api.Local{Key: f.key, Sum: f.sum, Bytes: int(f.size)})
			continue
		}
		snap.Held = append(snap.Held, api.HeldFile{Key: f.key, Path: f.path, Reason: f.held.Reason, Detail: f.held.Detail})
	}
	slices.SortFunc(snap.Files, func(a, b api.Local) int { return a.Key.Compare(b.Key) })
	slices.SortFunc(snap.Held, func(a, b api.HeldFile) int { return strings.Compare(a.Path, b.Path) })
	return snap
}

func isTwin(f found) bool { return f.held != nil && f.held.Reason == api.HeldCaseTwin }

// holdTwins holds all but one of the files that a file system without case, or
// with Unicode normalization, could not keep apart. The choice is the same in
// every scan: a preferred key, then the spelling that is the key itself, then
// byte order.
func (t *Tree) holdTwins(all []found) {
	byFold := make(map[string]int, len(all))
	for i := range all {
		if !all[i].plain {
			continue
		}
		fold := all[i].key.Fold()
		j, taken := byFold[fold]
		if !taken {
			byFold[fold] = i
			continue
		}
		winner, loser := j, i
		if t.compareTwins(&all[i], &all[j]) < 0 {
			winner, loser = i, j
		}
		byFold[fold] = winner
		all[loser].held = &api.HeldError{
			Reason: api.HeldCaseTwin,
			Detail: fmt.Sprintf("%q differs from it only in case or Unicode form", all[winner].path),
		}
	}
}

func (t *Tree) compareTwins(a, b *found) int {
	rank := func(f *found) int {
		score := 0
		if t.prefer(f.key) {
			score -= 2
		}
		if f.key.String() == f.path {
			score--
		}
		return score
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.path, b.path))
}

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
