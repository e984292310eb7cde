package server

import (
	"time"

	"github.com/teammem/teammemd/api"
)

// await returns when the repo's state differs from the one that the client
// knows, or with timedOut when the wait is over or the server is about to stop.
// now is where the request acts by then: the repo may have been renamed, or
// access to it lost, which is an error.
func (c *call) await(q memoryQuery, at place) (now place, timedOut bool, err error) {
	release, err := c.hold()
	if err != nil {
		return at, false, err
	}
	defer release()
	sub := c.core.Hub().Subscribe(at.repo)
	defer func() { sub.Close() }()
	over := time.NewTimer(q.wait)
	defer over.Stop()
	for {
		changed, moved := c.auth.Changed(), c.o.Access.Changed()
		if err := c.recheck(); err != nil {
			return at, false, err
		}
		if now, err = c.access(q.repo); err != nil {
			return at, false, err
		}
		if now.repo != at.repo {
			sub.Close()
			sub = c.core.Hub().Subscribe(now.repo)
		}
		at = now
		notice, err := c.core.Notice(c.r.Context(), at.repo)
		if err != nil || differs(notice, q) {
			return at, false, err
		}
		ask := timerAt(at.until)
		select {
		case <-sub.Ready():
			sub.Take()
		case <-changed:
		case <-moved:
		case <-ask.C:
		case <-over.C:
			ask.Stop()
			return at, true, nil
		case <-c.draining:
			ask.Stop()
			return at, true, nil
		case <-c.r.Context().Done():
			ask.Stop()
			return at, false, c.r.Context().Err()
		}
		ask.Stop()
	}
}

// timerAt returns a timer that fires at a time, stopped for the zero time.
func timerAt(at time.Time) *time.Timer {
	if at.IsZero() {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(max(time.Until(at), minAsk))
}

// minAsk is the least time between two looks at the same permission of a request
// that stays open.
const minAsk = time.Second

// differs compares with what the client knows. A repo that was never written has
// no epoch, and a client that names none does not care.
func differs(now api.Notice, q memoryQuery) bool {
	return now.Version != q.after || (now.Version > 0 && q.epoch != "" && q.epoch != now.Epoch)
}
