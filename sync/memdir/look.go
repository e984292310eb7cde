package memdir

import (
	"errors"
	"io/fs"
	"path"
	"time"

	"github.com/teammem/teammemd/api"
)

// reader looks at files with one buffer. One goroutine uses it.
type reader struct {
	tree *Tree
	buf  []byte // room for one byte more than the largest content
}

// first looks at a file for the first time in a scan, false when it is gone.
func (s *scan) first(r *reader, b batch, name string) (found, bool) {
	f := found{path: path.Join(b.parent, name)}
	old, known := s.tree.cache[f.path]
	m, held, err := b.dir.look(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found{}, false
	case err != nil:
		held = unreadable(err)
	}
	f.mark, f.held = m, held
	why := ""
	if f.key = old.key; !known {
		f.key, why = keyOf(f.path)
	}
	if held != nil {
		if !s.tree.names.accepted(name) {
			f.key = api.Key{} // a link that may stand for a directory
		}
		return f, true
	}
	if why != "" {
		f.held = &api.HeldError{Reason: api.HeldBadName, Detail: why}
		return f, true
	}
	f.plain = true
	if f.held = s.tree.tooLarge(m.size); f.held == nil {
		s.content(r, b.dir, name, &f, old)
	}
	return f, true
}

// content settles sum or held of a plain file that is small enough.
func (s *scan) content(r *reader, d *dir, name string, f *found, old cached) {
	if old.mark == f.mark && old.proven && !s.how.Full {
		f.cached = old
		return
	}
	f.seen = s.now
	if old.mark == f.mark && !old.seen.IsZero() {
		f.seen = old.seen
	}
	mayBeRipe := f.unchangedFor(s.how.Settle, s.now, false, old)
	if !mayBeRipe && !s.how.Twice && !old.settled {
		f.held = unstable()
		return
	}
	busy, ok := r.fill(d, name, &f.cached, s.now)
	if !ok {
		return
	}
	// A young file is whole when it holds what was whole before.
	ripe := f.unchangedFor(s.how.Settle, s.now, busy, old)
	f.settled = ripe || (old.settled && old.sum == f.sum)
	if !f.settled && !s.how.Twice {
		f.held, f.sum = unstable(), api.Checksum{}
	}
}

// fill reads a file into c, and reports whether it is open for writing; not ok
// when c says why it is held instead.
func (r *reader) fill(d *dir, name string, c *cached, now time.Time) (busy, ok bool) {
	content, busy, err := d.read(name, c.mark, r.buf)
	switch {
	case errors.Is(err, api.ErrUnsettled), errors.Is(err, fs.ErrNotExist):
		c.held = unstable()
		return busy, false
	case err != nil:
		c.held = unreadable(err)
		return busy, false
	}
	c.sum, c.held = api.Sum(content), notText(content)
	c.proven = !busy && now.Sub(c.changed(now)) >= racy
	return busy, true
}

// second looks again at a young file, a while after the first time: it is whole
// when both reads agree and nobody is writing it.
func (s *scan) second(r *reader, b batch, name string, first found) (found, bool) {
	m, held, err := b.dir.look(name)
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, false
	}
	again := first.cached
	if err == nil && held == nil && m == first.mark {
		busy, ok := r.fill(b.dir, name, &again, s.now)
		if ok && !busy && again.sum == first.sum {
			again.settled = true
			first.cached = again
			return first, true
		}
	}
	first.held, first.sum = unstable(), api.Checksum{}
	return first, true
}
