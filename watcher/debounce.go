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
	// cleared is when a burst was dealt with in its midst: what comes of it after
	// that has waited since.
	cleared time.Time
}

// Touch records a change.
func (d *Debounce) Touch(now time.Time) {
	if !d.pending {
		d.pending, d.first = true, now
		if d.Busy(now) && !d.cleared.IsZero() {
			d.first = d.cleared
		}
		d.cleared = time.Time{}
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
func (d *Debounce) Busy(now time.Time) bool { return now.Before(d.last.Add(d.Quiet)) }

// Pending reports whether something was touched since the last Clear.
func (d *Debounce) Pending() bool { return d.pending }

// Clear forgets what was touched: it is being dealt with. Of a writing that goes
// on, Max is counted from now on, so that it is dealt with every Max and not a
// write's interval later each time.
func (d *Debounce) Clear(now time.Time) {
	d.pending, d.cleared = false, time.Time{}
	if d.Busy(now) {
		d.cleared = now
	}
}
