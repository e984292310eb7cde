package simtest

import (
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// What a client that nothing goes wrong for takes, at most: two polls at their
// widest jitter, and a moment for the requests and for lost races.
const (
	widestPoll    = api.PollInterval * 5 / 4
	widestRecheck = 5 * time.Minute * 5 / 4
	moment        = 8 * time.Second
)

// settle ends faults and edits, gives everybody the time that SYNC.md says, and
// checks what must be true then.
func (w *World) settle() {
	w.calm()
	w.finish()
	w.pass(w.allowance())
	w.finish()
	for _, m := range w.machines {
		w.broke(promiseConverged(m))
		w.broke(promiseNoStrays(m))
		w.broke(promiseWholeFiles(m))
	}
	w.broke(promiseAcknowledged(w))
	w.broke(promiseNothingLost(w))
	w.rest()
}

// rest lets two polls go by in which nothing happens.
func (w *World) rest() {
	before := make([]quiet, len(w.machines))
	for i, m := range w.machines {
		before[i] = m.quiet()
	}
	for _, m := range w.machines {
		if m.core != nil {
			m.step(teamsync.Hinted{Full: true})
		}
	}
	w.pass(2 * widestPoll)
	w.finish()
	for i, m := range w.machines {
		w.broke(promiseQuiet(m, before[i]))
		w.broke(promiseConverged(m))
	}
}

// finish lets everybody end the cycle that is under way.
func (w *World) finish() {
	for _, m := range w.machines {
		for m.core != nil && (m.effect != nil || m.answer != nil) && w.broken == nil {
			m.turn()
		}
	}
}

// calm ends everything that goes wrong. The watchers' memory stays: an event
// that was lost is not told now either.
func (w *World) calm() {
	for _, m := range w.machines {
		m.spring()
	}
	w.settling, w.down, w.hostile = true, time.Time{}, 0
	for i, m := range w.machines {
		lost := m.unseen
		m.faults = faults{verdicts: m.verdicts, unseen: lost}
		m.moveRoot(RootBack)
		for m.core == nil && w.broken == nil {
			m.turn()
		}
		if w.broken != nil {
			return
		}
		m.step(teamsync.SetPaused{})
		m.follow(false)
		m.follow((w.history.Seed+uint64(i))%2 == 0)
	}
}

// allowance is debounce and two polls, from when the slowest client has waited
// out what it was told to, or drew, before the faults ended.
func (w *World) allowance() time.Duration {
	longest := time.Duration(0)
	for _, m := range w.machines {
		wait := time.Duration(0)
		if m.core == nil {
			continue
		}
		if at := m.core.Report().NextRetry; at.After(w.now) {
			wait = at.Sub(w.now)
		}
		if m.following && m.unseen {
			wait = max(wait, widestRecheck) // the safeguard against lost events
		}
		if m.hasEmpty() {
			wait += emptyHold + debounce
		}
		longest = max(longest, wait)
	}
	if w.history.Twins {
		longest += 2 * widestPoll // one spelling waits for the other to go
	}
	return longest + debounce + 2*widestPoll + moment
}

func (m *machine) hasEmpty() bool {
	for name, f := range m.disk.shown[team] {
		if _, isKey := m.w.keyOf[name]; isKey && f.text.s == "" {
			return true
		}
	}
	return false
}
