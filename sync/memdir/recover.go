package memdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// Recover clears what a crash left in the staging directories. Half-written
// files and contents that never entered the tree are deleted; a file that was
// moved out goes back, if its place is free; any other bytes are saved, unless
// [Options.Known] names them. Call it once before the first use of the tree. It
// is harmless to call again, and when the root is missing. What could not be
// dealt with stays, and is reported.
func (t *Tree) Recover(ctx context.Context) error {
	t.leftovers = false
	t.sweep(ctx, 0)
	paths := []string{besidePath(t.root)}
	if t.staging != "" {
		paths = append(paths, t.staging)
	}
	var errs []error
	for i, path := range paths {
		s, err := openStaging(path, false)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.beside = i == 0
		errs = append(errs, t.recoverIn(ctx, s))
		s.close()
	}
	if err := errors.Join(errs...); err != nil {
		t.leftovers = true
		return fmt.Errorf("recovering staged files: %w", err)
	}
	return nil
}

// retryLeftovers tries again what could not be saved before: nobody sees such a
// text until it is.
func (t *Tree) retryLeftovers(ctx context.Context) {
	if !t.leftovers {
		return
	}
	if err := t.Recover(ctx); err != nil {
		t.log.WarnContext(ctx, "recovering staged files", "error", err)
	}
}

func (t *Tree) recoverIn(ctx context.Context, s *staging) error {
	entries, err := s.list()
	if err != nil {
		return err
	}
	var errs []error
	var keys []string
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, ours := s.parse(entry.Name())
		switch {
		case !ours:
			continue // not a name that we give
		case l.kind == longKey:
			keys = append(keys, l.name)
		case l.kind == beingWritten:
			errs = append(errs, s.remove(l.name))
		default:
			errs = append(errs, t.recoverFile(ctx, s, l))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // the texts of long keys are still needed
	}
	for _, name := range keys {
		errs = append(errs, s.remove(name))
	}
	return errors.Join(errs...)
}

func (t *Tree) recoverFile(ctx context.Context, s *staging, l leftover) error {
	if l.kind == movedOut {
		if back, err := t.putLeftoverBack(s, l); back || err != nil {
			return err
		}
	}
	got, err := t.settle(ctx, s, l.name)
	switch {
	case err != nil:
		return err
	case got.busy:
		return fmt.Errorf("a displaced file of %q stays in %q: %w", l.key, s.path, api.ErrUnsettled)
	case !got.read:
		return fmt.Errorf("a displaced file of %q stays in %q: %w", l.key, s.path, got.held)
	}
	if got.sum != l.sum && !slices.Contains(t.known(l.key), got.sum) {
		id, err := t.saveExhibit(ctx, l.key, got, whyDisplaced)
		if err != nil {
			return err
		}
		t.log.InfoContext(ctx, "saved a displaced file after a crash", "key", l.key, "id", id)
	}
	return s.remove(l.name)
}

// putLeftoverBack returns a file that was moved out to its place, and reports
// false when that is taken, or gone.
func (t *Tree) putLeftoverBack(s *staging, l leftover) (bool, error) {
	root, err := t.openRoot()
	if errors.Is(err, api.ErrRootMissing) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer root.release()
	p := newPool(root)
	defer p.release()
	at, err := t.locate(p, l.key, nil)
	if err != nil {
		return false, nil // no place to go back to: it is saved instead
	}
	if err := atomicfile.RenameNoReplace(s.file, l.name, at.file, at.name); err != nil {
		return false, nil // taken: as above
	}
	return true, atomicfile.SyncDir(at.file)
}
