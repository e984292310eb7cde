package memdir

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// lingerer is a displaced file that was inspected, but stays in the staging
// directory for a moment: somebody edits at the key, and a program may be
// inside the system's open, having found the file under its name before the
// exchange, without counting as its writer yet. What it writes then is found
// when the file is looked at again.
type lingerer struct {
	move
	staging string // path of the directory
	since   time.Time
}

// editedLately reports whether somebody else than us changed the file at a
// path within [lively]; it is a text of ours by now, perhaps, and the next save
// may be on its way all the same.
func (t *Tree) editedLately(rel string, now mark) bool {
	if changed := now.changed(time.Now()); t.cache[rel].mark != now && time.Since(changed) < lively {
		t.edited[rel] = changed
	}
	at, known := t.edited[rel]
	return known && time.Since(at) < lively
}

const (
	// lively is the age of the last change below which a file counts as edited.
	lively = 2 * time.Second
	// grace is how long a displaced file lingers, at least: far longer than a
	// system call takes on a machine that is short of processors.
	grace = time.Second
)

// sweep removes the files that have lingered long enough, and saves those that
// were written to. It is called at the start of every call.
func (t *Tree) sweep(ctx context.Context, age time.Duration) {
	maps.DeleteFunc(t.edited, func(_ string, at time.Time) bool { return time.Since(at) >= lively })
	t.lingering = slices.DeleteFunc(t.lingering, func(l lingerer) bool {
		if time.Since(l.since) < age {
			return false
		}
		s, err := openStaging(l.staging, false)
		if err != nil {
			return true // removed from outside, and with it the file
		}
		s.beside = l.staging == besidePath(t.root)
		defer s.close()
		if stillAs(s, l.name, l.seen) {
			t.discard(ctx, s, l.Key, l.name)
			return true
		}
		var late api.Placed // the outcome was handed out already
		l.out = &late
		t.keepOrLeave(ctx, s, &l.move, l.name)
		return true
	})
}
