package memdir

import (
	"context"
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
