package simtest

import "time"

// How long a watcher waits for a directory to settle (SYNC.md, section 2), less
// what the daemon leaves of the maximum for the cycle itself.
const (
	debounce = 2 * time.Second
	maxWait  = 9500 * time.Millisecond
)

// watch is the debouncing of file events on one machine.
type watch struct {
	first, last time.Time // of the events that were not told yet
}

// at returns when something is to be told, the zero time for nothing.
func (h *watch) at() time.Time {
	if h.first.IsZero() {
		return time.Time{}
	}
	quiet, late := h.last.Add(debounce), h.first.Add(maxWait)
	if late.Before(quiet) {
		return late
	}
	return quiet
}

// due reports whether something is to be told, and whether writing goes on.
func (h *watch) due(now time.Time) (busy, due bool) {
	at := h.at()
	if at.IsZero() || at.After(now) {
		return false, false
	}
	return now.Before(h.last.Add(debounce)), true
}

// touched is what happens after every change of the tree.
func (m *machine) touched() {
	if m.core == nil || m.root != present {
		return
	}
	times := 1
	switch {
	case m.eventsLost > 0 && !m.w.settling:
		m.eventsLost--
		m.unseen = true
		m.w.stats.fault(EventsLost)
		return
	case m.eventsTwice > 0:
		m.eventsTwice--
		m.w.stats.fault(EventsTwice)
		times++
	}
	for range times {
		m.watch.last = m.w.now
		if m.watch.first.IsZero() {
			m.watch.first = m.w.now
		}
	}
}
