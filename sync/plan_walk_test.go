package sync_test

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

var steps = flag.Int("steps", 1_000_000, "random steps of the planner")

// TestPlanWalk lets one key live: people write and delete it on both sides, it
// is retired, revived and lost, and in between its plan is carried out. Whatever
// came before, no text goes that the server never had unless it was saved, and
// once nobody touches it, both sides are equal or it is held.
func TestPlanWalk(t *testing.T) {
	t.Parallel()
	w := &walk{rand: rand.New(rand.NewPCG(7, 7))}
	for done := 0; done < *steps && !t.Failed(); done++ {
		if done%1000 == 0 {
			w.facts, w.had = teamsync.Facts{}, map[api.Checksum]bool{}
		}
		w.step(t)
	}
	actions := 0
	for _, n := range w.taken {
		actions += min(n, 1)
	}
	if actions != int(teamsync.Forget)+1 {
		t.Errorf("only %d of the actions were ever planned: %v", actions, w.taken)
	}
	t.Logf("FIGURE %d random steps of the planner, %d times settled, every action at least once", *steps, w.settled)
}

// walk is one key on one machine and the server. Its texts are few, so that they
// meet again.
type walk struct {
	rand    *rand.Rand
	facts   teamsync.Facts
	had     map[api.Checksum]bool // contents that the server ever had
	version uint64
	taken   [teamsync.Forget + 1]int
	settled int
}

// spoiled is the content in which the guard finds a secret on arrival.
var spoiled = api.Checksum{31: 5}

func (w *walk) text() api.Checksum { return api.Checksum{31: byte(1 + w.rand.IntN(5))} }

// step is one thing that happens.
func (w *walk) step(t *testing.T) {
	t.Helper()
	f := &w.facts
	switch w.rand.IntN(12) {
	case 0, 1:
		f.Local = w.text()
	case 2:
		f.Local = none
	case 3, 4:
		f.Remote, f.Tomb = w.text(), 0
		w.had[f.Remote] = true
	case 5:
		if f.Remote != none {
			w.version++
			f.Remote, f.Tomb = none, w.version
		}
	case 6:
		f.Remote, f.Tomb = none, 0 // lost
	case 7:
		f.Held = f.Local != none && w.rand.IntN(2) == 0
	case 8:
		w.settle(t)
	default:
		w.carryOut(t)
	}
	if f.Local == none {
		f.Held = false
	}
}

// settle carries out plans until there is nothing left to do.
func (w *walk) settle(t *testing.T) {
	t.Helper()
	w.settled++
	w.facts.Held = false
	for range 4 {
		switch w.carryOut(t) {
		case teamsync.HoldBad, teamsync.HoldForgotten:
			return
		case teamsync.Nothing:
			if w.facts.Local != w.facts.Remote {
				t.Errorf("%+v: nothing is planned, and the sides differ", w.facts)
			}
			return
		}
	}
	t.Errorf("%+v: the plans do not come to an end", w.facts)
}

// carryOut does what the plan says, and refuses what loses a text.
func (w *walk) carryOut(t *testing.T) teamsync.Action {
	t.Helper()
	f := &w.facts
	checkPlan(t, *f)
	action := teamsync.Plan(*f)
	w.taken[action]++
	switch action {
	case teamsync.Pull, teamsync.Restore, teamsync.Displace:
		if action != teamsync.Displace && f.Local != none && !w.had[f.Local] {
			t.Errorf("%+v: %v loses a text that the server never had", *f, action)
		}
		if f.Remote == spoiled {
			f.Base.Bad = f.Remote
			break
		}
		f.Local = f.Remote
		w.agree()
	case teamsync.Push:
		f.Remote, w.had[f.Local] = f.Local, true
		w.agree()
	case teamsync.Agree:
		w.agree()
	case teamsync.Bury, teamsync.MarkBuried:
		if f.Local != none && !w.had[f.Local] {
			t.Errorf("%+v: %v loses a text that the server never had", *f, action)
		}
		f.Local = none
		f.Base = api.Base{Tomb: f.Tomb, Ring: w.ring(none)}
	case teamsync.Forget:
		f.Base = api.Base{}
	}
	return action
}

func (w *walk) agree() {
	w.facts.Base = api.Base{Sum: w.facts.Remote, Ring: w.ring(w.facts.Remote)}
}

// ring is the ring of the next base, whose content is now.
func (w *walk) ring(now api.Checksum) []api.Checksum {
	var ring []api.Checksum
	for _, sum := range append([]api.Checksum{w.facts.Base.Sum}, w.facts.Base.Ring...) {
		if sum != none && sum != now {
			ring = append(ring, sum)
		}
	}
	return ring[:min(len(ring), api.RingSize)]
}
