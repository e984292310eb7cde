package simtest

import (
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// The waits of a client at their widest jitter.
const (
	widestPoll    = api.PollInterval * 5 / 4
	widestRecheck = 5 * time.Minute * 5 / 4
)

// settle ends faults and edits, gives everybody the time that SYNC.md says, and
// checks what must be true then.
func (w *World) settle() {
	w.calm()
	w.finish()
	w.settleInTime()
	w.pass(w.allowance())
	w.finish()
	for _, m := range w.machines {
		w.broke(promiseConverged(m))
		w.broke(promiseNoStrays(m))
		w.broke(promiseWholeFiles(m))
		w.broke(promiseRedactedGone(m))
	}
	w.broke(promiseAcknowledged(w))
	w.broke(promiseNothingLost(w))
	w.rest()
}

// settleInTime holds the clients to the words of invariant 3: debounce and two
// polls. Those that still wait, by a rule of their own, for what was before the
// faults ended are judged later, and so is everybody who waits for them.
func (w *World) settleInTime() {
	for _, m := range w.machines {
		m.waits = m.ownWait() > 0
	}
	w.pass(debounce + 2*widestPoll)
	w.finish()
	for _, m := range w.machines {
		if m.waits || w.delayed {
			w.stats.Later++
			continue
		}
		w.stats.InTime++
		w.broke(promiseConverged(m))
	}
}

// ownWait is how long a client may still wait for what was before the faults
// ended: what it drew or was told after a failure, the safeguard against events
// that were lost, and a file that must stay empty for a minute.
func (m *machine) ownWait() (wait time.Duration) {
	if m.core == nil {
		return 0
	}
	if at := m.core.Report().NextRetry; at.After(m.w.now) {
		wait = at.Sub(m.w.now)
	}
	if m.following && m.unseen {
		wait = max(wait, widestRecheck)
	}
	if m.hasEmpty() {
		wait += emptyHold + debounce
	}
	return wait
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
		longest = max(longest, m.ownWait())
	}
	return longest + debounce + 2*widestPoll
}

func (m *machine) hasEmpty() bool {
	for name, f := range m.disk.shown[team] {
		if _, isKey := m.w.keyOf[name]; isKey && f.text.s == "" {
			return true
		}
	}
	return false
}
