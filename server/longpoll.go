package server

import (
	"time"

	"github.com/teammem/teammemd/api"
)

// await returns when the repo's state differs from the one that the client
// knows, or with timedOut when the wait is over or the server is about to stop.
func (c *call) await(q memoryQuery) (timedOut bool, err error) {
	release, err := c.hold()
	if err != nil {
		return false, err
	}
	defer release()
	sub := c.core.Hub().Subscribe(q.repo)
	defer sub.Close()
	over := time.NewTimer(q.wait)
	defer over.Stop()
	for {
		changed := c.auth.Changed()
		if err := c.recheck(); err != nil {
			return false, err
		}
		if _, err := c.access(q.repo); err != nil {
			return false, err
		}
		now, err := c.core.Notice(c.r.Context(), q.repo)
		if err != nil || differs(now, q) {
			return false, err
		}
		select {
		case <-sub.Ready():
			sub.Take()
		case <-changed:
		case <-over.C:
			return true, nil
		case <-c.draining:
			return true, nil
		case <-c.r.Context().Done():
			return false, c.r.Context().Err()
		}
	}
}

// differs compares with what the client knows. A repo that was never written has
// no epoch, and a client that names none does not care.
func differs(now api.Notice, q memoryQuery) bool {
	return now.Version != q.after || (now.Version > 0 && q.epoch != "" && q.epoch != now.Epoch)
}
