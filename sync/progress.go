package sync

import (
	"slices"

	"github.com/teammem/teammemd/api"
)

// Progress says how far the cycle under way has come, in keys. Both are zero
// while none is under way, and until a cycle knows what there is to do.
type Progress struct {
	Done    int // moved so far
	Planned int // to move in all, as far as it is known
}

// maxWaiting is how many pending keys a report names.
const maxWaiting = 5

// expect notes what the cycle is going to do.
func (c *Core) expect() {
	cy := c.cycle
	cy.planned = cy.tally.moved() + len(cy.inspect) - cy.rechecks + len(cy.pull) + len(cy.bury)
}

// progress returns how far the cycle under way has come.
func (c *Core) progress() Progress {
	if c.cycle == nil || c.cycle.planned == 0 {
		return Progress{}
	}
	done := c.cycle.tally.moved()
	return Progress{Done: done, Planned: max(done, c.cycle.planned)} // what is found on the way counts too
}

func (t Tally) moved() int { return t.Sent + t.Received + t.Restored }

// firstOf returns the first keys of those that wait, in order.
func firstOf(waiting []api.Key) []api.Key {
	slices.SortFunc(waiting, api.Key.Compare)
	return slices.Clone(waiting[:min(len(waiting), maxWaiting)])
}
