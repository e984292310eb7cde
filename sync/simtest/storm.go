package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// stormLength is how long a storm lasts.
const stormLength = 50 * time.Second

// storm is a program that writes one file all the time, on a client that nothing
// goes wrong for.
func (w *World) storm(m *machine, key api.Key, op Op) {
	if m.core == nil || m.root != present || m.isSaving(key) || !w.takes(key) {
		return
	}
	m.faults = faults{verdicts: m.verdicts, unseen: m.unseen}
	m.ambushes, w.down, w.hostile = nil, time.Time{}, 0
	m.step(teamsync.SetPaused{})
	m.step(teamsync.Asked{})
	w.alone(m, time.Second)
	if m.core == nil || m.holds(key) {
		return
	}
	if r := m.core.Report(); r.Err != nil || r.Again || r.Position != w.server.position() {
		return // the first thing to come would be a pull, and a conflict perhaps
	}
	w.stats.Storms++
	began, last, seen := w.now, w.now, w.server.live[key]
	for w.broken == nil && w.now.Sub(began) < stormLength {
		w.texts++
		m.write(SaveAtomic, key, textOf(fmt.Sprintf("text %d of client %d\n", w.texts, m.id)), false)
		w.alone(m, time.Duration(250+op.Arg/4)*time.Millisecond)
		if now := w.server.live[key]; now != seen {
			last, seen = w.now, now
		}
		w.broke(promiseSteady(m, w.now.Sub(last)))
	}
}

// holds reports whether a key stays here for a reason of its own.
func (m *machine) holds(key api.Key) bool {
	return slices.ContainsFunc(m.core.Report().Held, func(h teamsync.Held) bool { return h.Key == key && h.Reason != api.HeldUnstable })
}

// takes reports whether the server has no reason to refuse a key.
func (w *World) takes(key api.Key) bool {
	_, retired := w.server.tombs[key]
	h := w.history
	return !retired && !strings.Contains(w.server.live[key].s, secretMark) && key != w.server.poison && !h.Few && !h.Twins && !h.Big
}

// alone lets time go by for one machine.
func (w *World) alone(m *machine, d time.Duration) {
	for end := w.now.Add(d); w.broken == nil; {
		at := m.next()
		if at.IsZero() || at.After(end) {
			w.now = later(w.now, end)
			return
		}
		w.now = later(w.now, at)
		m.turn()
	}
}
