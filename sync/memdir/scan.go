package memdir

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
)

// found is one object of the tree that a snapshot mentions.
type found struct {
	path string // relative to the root, as on disk
	cached
	plain bool // a plain file with a key: it may have twins
}

// batch is a part of one directory, looked at by one worker.
type batch struct {
	dir    *dir
	parent string // path of dir, "" for the root
	names  []string
}

// batchNames is the number of files in one batch: small enough to share a flat
// directory among workers, large enough that handing it over costs nothing.
const batchNames = 64

// scan is one walk over the tree. The walker lists directories, workers look at
// the files; each worker collects for itself.
type scan struct {
	tree    *Tree
	how     api.Reading
	now     time.Time
	batches chan batch
	walked  []found // what the walker itself found
	results [][]found
}

func (t *Tree) newScan(how api.Reading) *scan {
	workers := runtime.GOMAXPROCS(0)
	return &scan{
		tree: t, how: how, now: t.clock(),
		batches: make(chan batch, 4*workers), results: make([][]found, workers),
	}
}

// run walks from root with all workers and returns everything found.
func (s *scan) run(ctx context.Context, feed func(context.Context) error, look func(*reader, batch, string) (found, bool)) ([]found, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(s.batches)
		return feed(ctx)
	})
	likely := len(s.tree.cache)
	for i := range s.results {
		s.results[i] = make([]found, 0, likely/len(s.results)*9/8)
		group.Go(func() error {
			r := &reader{tree: s.tree, buf: make([]byte, s.tree.max+1)}
			for b := range s.batches {
				for _, name := range b.names {
					if f, ok := look(r, b, name); ok {
						s.results[i] = append(s.results[i], f)
					}
				}
				b.dir.release()
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.Concat(append(s.results, s.walked)...), err
}

// send hands a batch to the workers, or drops it when the scan was cancelled.
func (s *scan) send(ctx context.Context, d *dir, parent string, names []string) error {
	for len(names) > 0 {
		n := min(batchNames, len(names))
		select {
		case s.batches <- batch{d.retain(), parent, names[:n]}:
		case <-ctx.Done():
			d.release()
			return ctx.Err()
		}
		names = names[n:]
	}
	return nil
}

// walk lists d and everything below it.
func (s *scan) walk(ctx context.Context, d *dir, parent string, depth int) error {
	entries, err := d.list()
	if err != nil {
		if parent == "" {
			return err
		}
		s.hold(parent, unreadable(err))
		return nil
	}
	var files, dirs []string
	for _, entry := range entries {
		name := entry.Name()
		switch rel := path.Join(parent, name); {
		case s.tree.names.ignored(rel, name):
		case entry.IsDir():
			dirs = append(dirs, name)
		case s.takes(entry):
			files = append(files, name)
		}
	}
	if err := s.send(ctx, d, parent, files); err != nil {
		return err
	}
	for _, name := range dirs {
		if err := s.descend(ctx, d, path.Join(parent, name), name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// takes reports whether a name that is no directory is worth a look. A link
// without an extension may stand for a directory, which people expect to sync:
// it is shown as held.
func (s *scan) takes(entry fs.DirEntry) bool {
	name := entry.Name()
	isLink := entry.Type()&fs.ModeSymlink != 0
	return s.tree.names.accepted(name) || (isLink && path.Ext(name) == "")
}

func (s *scan) descend(ctx context.Context, parent *dir, rel, name string, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth >= api.MaxSegments {
		s.hold(rel, &api.HeldError{Reason: api.HeldBadName, Detail: "the directory is nested too deep"})
		return nil
	}
	child, err := parent.sub(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		held, ok := errors.AsType[*api.HeldError](err)
		if !ok {
			held = unreadable(err)
		}
		s.hold(rel, held)
		return nil
	}
	defer child.release()
	return s.walk(ctx, child, rel, depth)
}

func (s *scan) hold(rel string, held *api.HeldError) {
	s.walked = append(s.walked, found{path: rel, cached: cached{held: held}})
}
