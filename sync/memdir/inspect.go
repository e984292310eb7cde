package memdir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
	"github.com/teammem/teammemd/internal/planted"
)

const (
	// patience is how long a program that has a displaced file open for writing
	// is waited for: a save takes far less, a log never ends.
	patience = 100 * time.Millisecond
	// pause is the time between two looks at such a file.
	pause = time.Millisecond
	// lull is how long a displaced file must have been quiet where the system
	// cannot tell whether it is open.
	lull = 20 * time.Millisecond
)

// exhibit is a file in the staging directory, examined.
type exhibit struct {
	mark
	busy    bool           // somebody is writing it
	held    *api.HeldError // why it must not be displaced
	read    bool           // content and sum are those of the whole file
	content string
	sum     api.Checksum
}

// maxExhibit bounds what is read of a displaced file that is too large for the
// tree, in bytes: it may still become a saved copy.
const maxExhibit = 64 << 20

// examine reads a staged file that may still be open elsewhere.
func (t *Tree) examine(s *staging, name string) (exhibit, error) {
	m, held, err := s.look(name)
	if err != nil {
		return exhibit{}, fmt.Errorf("inspecting a displaced file: %w", err)
	}
	if held != nil || m.size > maxExhibit {
		return exhibit{mark: m, held: cmp.Or(held, t.tooLarge(m.size))}, nil
	}
	f, err := s.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		// What cannot be read cannot be saved, so it must not be displaced.
		return exhibit{mark: m, held: unreadable(err)}, nil
	}
	if err != nil {
		return exhibit{}, fmt.Errorf("inspecting a displaced file: %w", err)
	}
	got, err := t.examineOpen(f, m)
	if err = errors.Join(err, f.Close()); err != nil {
		return exhibit{}, fmt.Errorf("inspecting a displaced file: %w", err)
	}
	return got, nil
}

func (t *Tree) examineOpen(f *os.File, m mark) (exhibit, error) {
	busy, err := beingWrittenTo(f, m)
	if err != nil || busy {
		return exhibit{mark: m, busy: true}, err
	}
	content, err := readWhole(f, m, make([]byte, m.size+1))
	if errors.Is(err, api.ErrUnsettled) {
		return exhibit{mark: m, busy: true}, nil
	}
	if err != nil {
		return exhibit{}, err
	}
	held := cmp.Or(t.tooLarge(m.size), notText(content))
	return exhibit{mark: m, held: held, read: true, content: string(content), sum: api.Sum(content)}, nil
}

// beingWrittenTo reports whether a program has the file open for writing, or,
// where nobody can tell, whether it was written a moment ago.
func beingWrittenTo(f *os.File, m mark) (bool, error) {
	busy, err := atomicfile.HasWriter(f)
	if err == nil {
		return busy, nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return false, err
	}
	// The time of the last change is that of the exchange: only writes count.
	age := time.Since(time.Unix(0, m.mtime))
	return age >= 0 && age < lull, nil
}

// settle examines a displaced file as soon as nobody is writing it any more; it
// may come back busy after [patience].
func (t *Tree) settle(ctx context.Context, s *staging, name string) (exhibit, error) {
	deadline := time.Now().Add(patience)
	for {
		got, err := t.examine(s, name)
		if err != nil || !got.busy || time.Now().After(deadline) {
			return got, err
		}
		if err := wait(ctx, pause); err != nil {
			return got, err
		}
	}
}

// inspect decides about what an exchange brought out: known bytes may go,
// unknown ones are saved, anything else is put back.
func (t *Tree) inspect(ctx context.Context, s *staging, m *move) error {
	got, err := t.settle(ctx, s, m.name)
	switch {
	case err != nil:
		return t.takeBack(ctx, s, m, err)
	case got.busy:
		return t.takeBack(ctx, s, m, api.ErrUnsettled)
	case got.held != nil:
		return t.takeBack(ctx, s, m, got.held)
	}
	m.seen = got.mark
	if got.sum == m.Sum || slices.Contains(m.Known, got.sum) || planted.In(planted.UnknownDropped) {
		return nil
	}
	id, err := t.saveExhibit(ctx, m.Key, got, whyDisplaced)
	if err != nil {
		return t.takeBack(ctx, s, m, err)
	}
	m.out.Saved = id
	return nil
}

// Reasons of saved copies, as in [api.SavedCopy].
const (
	whyDisplaced = "displaced"
	whyRetired   = "retired"
)

func (t *Tree) saveExhibit(ctx context.Context, key api.Key, got exhibit, why string) (string, error) {
	return t.save(ctx, api.SavedCopy{Key: key, Content: got.content, Sum: got.sum, At: t.clock(), Why: why})
}

// finish removes what a placement left in the staging directory. A displaced
// file that was written to since its inspection is inspected again: its writer
// had it open.
func (t *Tree) finish(ctx context.Context, s *staging, m *move) {
	if m.out.Err == nil {
		t.rememberPlaced(m)
	}
	switch {
	case m.name == "":
	case m.displaced && !stillAs(s, m.name, m.seen):
		t.keepOrLeave(ctx, s, m, m.name)
	case m.displaced && m.lively:
		t.lingering = append(t.lingering, lingerer{move: *m, staging: s.path, since: time.Now()})
	default:
		t.discard(ctx, s, m.Key, m.name)
	}
}

// rememberPlaced notes that a file is ours: whole however young it is, and
// edited by nobody as long as its mark stays.
func (t *Tree) rememberPlaced(m *move) {
	c := cached{key: m.Key, sum: m.Sum, settled: true}
	if now, held, err := m.at.look(m.at.name); err == nil && held == nil && now.ino == m.ours.ino && now.mtime == m.ours.mtime {
		c.mark = now
	}
	t.cache[m.at.rel()] = c
}

// stillAs reports whether a staged file has the mark, and no writer: it may go.
// First the writers, then the mark: a save that ends in between changes it.
func stillAs(s *staging, name string, seen mark) bool {
	f, err := s.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return false
	}
	busy, err := beingWrittenTo(f, seen)
	if err = errors.Join(err, f.Close()); err != nil || busy {
		return false
	}
	m, held, err := s.look(name)
	return err == nil && held == nil && m == seen
}

// keepOrLeave saves a displaced file whose bytes nobody else may have, then
// removes it. What cannot be saved now stays for [Tree.Recover].
func (t *Tree) keepOrLeave(ctx context.Context, s *staging, m *move, name string) {
	got, err := t.settle(ctx, s, name)
	if err == nil && got.read {
		known := got.sum == m.Sum || slices.Contains(m.Known, got.sum)
		if !known {
			m.out.Saved, err = t.saveExhibit(ctx, m.Key, got, whyDisplaced)
		}
		if err == nil && stillAs(s, name, got.mark) {
			t.discard(ctx, s, m.Key, name)
			return
		}
	}
	t.leftovers = true
	t.log.WarnContext(ctx, "displaced file stays in staging", "key", m.Key, "busy", got.busy, "error", err)
}

func (t *Tree) discard(ctx context.Context, s *staging, key api.Key, name string) {
	if err := errors.Join(s.remove(name), s.forgetKey(key)); err != nil {
		t.leftovers = true
		t.log.WarnContext(ctx, "staged file stays", "key", key, "error", err)
	}
}
