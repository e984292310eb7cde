package memdir

import (
	"context"
	"errors"
	"io/fs"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/planted"
)

// enter moves a staged file to its place in the tree. Afterwards the move says
// what is left in the staging directory.
func (t *Tree) enter(ctx context.Context, p *pool, s *staging, m *move) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	at, err := t.locate(p, m.Key, p.changed)
	if err != nil {
		return plainError(err)
	}
	m.at = at
	if planted.In(planted.RenameOver) {
		name := m.name
		m.name = ""
		p.changed(at.dir)
		return atomicfile.Move(s.file, name, at.file, at.name)
	}
	if !m.exists {
		return t.create(p, s, m)
	}
	if err := t.swap(ctx, s, m); err != nil {
		return m.swapError(err)
	}
	p.changed(at.dir)
	m.displaced = true
	return t.inspect(ctx, s, m)
}

// create is the way in where nothing was expected.
func (t *Tree) create(p *pool, s *staging, m *move) error {
	err := atomicfile.RenameNoReplace(s.file, m.name, m.at.file, m.at.name)
	switch {
	case errors.Is(err, fs.ErrExist):
		if other, exact, listErr := m.at.twin(m.at.name); listErr == nil && !exact && other != "" {
			return twinError(other)
		}
		return api.ErrUnsettled
	case err != nil:
		return m.swapError(err)
	}
	m.name = ""
	p.changed(m.at.dir)
	return nil
}

// swapError turns an error of a rename into an outcome.
func (m *move) swapError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		return api.ErrUnsettled // the file, or its directory, went away or came back
	case atomicfile.IsCrossDevice(err):
		m.cross = true
	case isFixed(err):
		return fixed(err)
	}
	return err
}

// swap exchanges the staged file with the one in the tree.
func (t *Tree) swap(ctx context.Context, s *staging, m *move) error {
	if t.noExchange {
		return t.swapSlowly(ctx, s, m)
	}
	err := atomicfile.Exchange(s.file, m.name, m.at.file, m.at.name)
	if errors.Is(err, atomicfile.ErrNoExchange) {
		t.log.WarnContext(ctx, "file system cannot exchange files, using rename and link", "root", t.root)
		t.noExchange = true
		return t.swapSlowly(ctx, s, m)
	}
	return err
}

// swapSlowly is swap for a file system without exchange: move the old file out,
// link the new one in without replacing. A save that falls into the gap stays in
// the tree, and nothing is ever overwritten; but for that moment the file is
// absent, as it is while vim saves. After a crash in the gap [Tree.Recover] puts
// the old file back.
//
// To link the old file first and then rename over it would leave no gap, and
// would lose a save that replaces the file between the two.
func (t *Tree) swapSlowly(ctx context.Context, s *staging, m *move) error {
	if err := s.keepKey(m.Key); err != nil {
		return err
	}
	out := movedOutName(m.Key)
	if err := atomicfile.Move(m.at.file, m.at.name, s.file, out); err != nil {
		return err
	}
	err := atomicfile.RenameNoReplace(s.file, m.name, m.at.file, m.at.name)
	if err != nil {
		back := atomicfile.RenameNoReplace(s.file, out, m.at.file, m.at.name)
		if back == nil {
			return err
		}
		// Somebody saved meanwhile. What we moved out was displaced by us all the
		// same: it has to be kept.
		t.keepOrLeave(ctx, s, m, out)
		return err
	}
	return s.root.Rename(out, m.name)
}

// takeBack undoes a swap because of cause, which it returns: the displaced file
// is one that must not be displaced. If a save arrived meanwhile, that stays in
// the tree, and what was displaced is kept as well as can be.
func (t *Tree) takeBack(ctx context.Context, s *staging, m *move, cause error) error {
	m.displaced = false
	err := t.swap(ctx, s, m)
	if errors.Is(err, fs.ErrNotExist) {
		// Our file was removed or renamed by somebody: nothing to take out.
		if err = atomicfile.RenameNoReplace(s.file, m.name, m.at.file, m.at.name); err == nil {
			m.name = ""
			return cause
		}
	}
	if err != nil {
		t.keepOrLeave(ctx, s, m, m.name)
		m.name = ""
		return cause
	}
	if t.isOurs(s, m) {
		// It was in the tree for a moment, where a program may have found it: it
		// lingers like what was displaced.
		m.displaced, m.lively = true, true
		return cause
	}
	// The later save belongs into the tree.
	if err := t.swap(ctx, s, m); err != nil {
		t.log.WarnContext(ctx, "putting a file back", "key", m.Key, "error", err)
	}
	t.keepOrLeave(ctx, s, m, m.name)
	m.name = ""
	return cause
}

// isOurs reports whether the staged file is what we placed, and nobody is about
// to change it.
func (t *Tree) isOurs(s *staging, m *move) bool {
	got, err := t.examine(s, m.name)
	m.seen = got.mark
	return err == nil && got.read && got.sum == m.Sum
}
