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

// Retire moves a file out of the tree into the saved copies, as the engine's
// Tree asks: it is looked at in place, moved to the staging directory, looked at
// again there, saved durably, and only then removed. Whatever speaks against
// that puts it back without replacing.
func (t *Tree) Retire(ctx context.Context, key api.Key, known []api.Checksum) error {
	if err := t.retire(ctx, key, known); err != nil {
		return fmt.Errorf("retiring %q: %w", key, err)
	}
	return nil
}

func (t *Tree) retire(ctx context.Context, key api.Key, known []api.Checksum) error {
	t.sweep(ctx, grace)
	root, err := t.openRoot()
	if err != nil {
		return err
	}
	defer root.release()
	p := newPool(root)
	defer p.release()
	at, err := t.locate(p, key, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return plainError(err)
	}
	found, err := t.readPlain(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.Contains(known, found.sum) {
		return api.ErrUnsettled
	}
	err = t.moveOut(ctx, root, at, key, known)
	if atomicfile.IsCrossDevice(err) && !t.beside {
		t.beside = true
		err = t.moveOut(ctx, root, at, key, known)
	}
	return err
}

func (t *Tree) moveOut(ctx context.Context, root *dir, at spot, key api.Key, known []api.Checksum) error {
	s, err := t.openStaging(root)
	if err != nil {
		return err
	}
	defer s.close()
	name := movedOutName(key)
	if err := s.keepKey(key); err != nil {
		return err
	}
	if err := atomicfile.Move(at.file, at.name, s.file, name); err != nil {
		err = errors.Join(err, s.forgetKey(key))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case isFixed(err):
			return fixed(err)
		}
		return err
	}
	seen, err := t.saveRetired(ctx, s, key, name, known)
	if err == nil {
		err = atomicfile.SyncDir(at.file)
	}
	if err == nil && !stillAs(s, name, seen) {
		err = api.ErrUnsettled
	}
	if err != nil {
		return t.putBack(ctx, s, at, key, name, err)
	}
	t.discard(ctx, s, key, name)
	return nil
}

func (t *Tree) saveRetired(ctx context.Context, s *staging, key api.Key, name string, known []api.Checksum) (mark, error) {
	got, err := t.settle(ctx, s, name)
	switch {
	case err != nil:
		return mark{}, err
	case got.held != nil:
		return mark{}, got.held
	case got.busy, !slices.Contains(known, got.sum):
		return mark{}, api.ErrUnsettled
	}
	_, err = t.saveExhibit(ctx, key, got, whyRetired)
	return got.mark, err
}

// putBack returns a file to the tree because of cause. If its place is taken by
// now it becomes a saved copy.
func (t *Tree) putBack(ctx context.Context, s *staging, at spot, key api.Key, name string, cause error) error {
	if err := atomicfile.RenameNoReplace(s.file, name, at.file, at.name); err != nil {
		m := &move{Placement: api.Placement{Key: key}, out: &api.Placed{}}
		t.keepOrLeave(ctx, s, m, name)
		return cause
	}
	return errors.Join(cause, s.forgetKey(key), atomicfile.SyncDir(at.file))
}
