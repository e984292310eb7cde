package watcher

import (
	"time"

	"github.com/teammem/teammemd/internal/planted"
)

// Debounce is the moment at which a burst of changes has settled: Quiet after
// the last change, but no later than Max after the first, since under constant
// writing the last change never comes. It is a value: it has no clock and
// starts nothing. The zero value of Quiet settles at once, that of Max means no
// maximum.
type Debounce struct {
	Quiet, Max time.Duration

	first, last time.Time
	pending     bool
}

// Touch records a change.
func (d *Debounce) Touch(now time.Time) {
	if !d.pending {
		d.pending, d.first = true, now
	}
	d.last = now
}

// Due reports whether what was touched has settled, and if not, how long to
// wait before asking again: 0 when nothing is pending. A clock that was set back
// delays the answer by no more than Quiet.
func (d *Debounce) Due(now time.Time) (ready bool, wait time.Duration) {
	if !d.pending {
		return false, 0
	}
	wait = d.last.Add(d.Quiet).Sub(now)
	if d.Max > 0 && !planted.In(planted.NoMaxWait) {
		wait = min(wait, d.first.Add(d.Max).Sub(now))
	}
	if wait <= 0 {
		return true, 0
	}
	return false, min(wait, max(d.Quiet, 1))
}

// Busy reports whether something was touched less than Quiet ago: where it is
// due all the same, the maximum wait made it so.
func (d *Debounce) Busy(now time.Time) bool { return d.pending && now.Before(d.last.Add(d.Quiet)) }

// Pending reports whether something was touched since the last Clear.
func (d *Debounce) Pending() bool { return d.pending }

// Clear forgets what was touched: it is being dealt with.
func (d *Debounce) Clear() { d.pending = false }
