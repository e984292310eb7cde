package memdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
)

// Persist makes the files of keys durable, contents and names, as the engine's
// Disk asks: people's programs seldom force what they write to the disk. A file
// that was clean costs next to nothing.
func (t *Tree) Persist(ctx context.Context, keys []api.Key) []error {
	errs := make([]error, len(keys))
	root, err := t.openRoot()
	if err != nil {
		return fillErrors(errs, err)
	}
	defer root.release()
	p := newPool(root)
	defer p.release()
	var group errgroup.Group
	group.SetLimit(syncers)
	for i, key := range keys {
		at, err := t.locate(p, key, nil)
		if err == nil {
			err = p.changedTo(at.path)
		} else if errors.Is(err, fs.ErrNotExist) {
			errs[i] = p.changedTo(path.Dir(key.String()))
			continue // its directory is gone as well
		}
		if err != nil {
			errs[i] = err
			continue
		}
		group.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = at.persist()
			}
			return nil
		})
	}
	_ = group.Wait() // errors are in their places
	if err := p.sync(); err != nil {
		return fillErrors(errs, err)
	}
	for i, err := range errs {
		if err != nil {
			errs[i] = fmt.Errorf("making %q durable: %w", keys[i], err)
		}
	}
	return errs
}

// changedTo notes that the directories from the root down to rel, as on disk,
// have to be synced, as far as they are there: people make directories, too.
func (p *pool) changedTo(rel string) error {
	p.changed(p.root)
	for i, c := range rel + "/" {
		if c != '/' || rel == "." || rel == "" {
			continue
		}
		d, err := p.take("disk:", rel[:i], p.root.onDisk)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		p.changed(d)
	}
	return nil
}

func fillErrors(errs []error, err error) []error {
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// persist forces the content of a plain file to the disk. What is no plain file
// any more is not ours to touch.
func (at spot) persist() error {
	info, err := at.root.Lstat(at.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return nil
	}
	f, err := at.root.OpenFile(at.name, openToSync|nonblock, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case openToSync == os.O_RDWR && errors.Is(err, fs.ErrPermission):
		return nil // read-only, where only writers may ask for it
	case err != nil:
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
