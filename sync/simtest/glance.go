package simtest

import (
	"github.com/teammem/teammemd/api"
)

// glance asks every client for its status, between two operations.
func (w *World) glance() {
	for _, m := range w.machines {
		if m.core == nil || !m.core.Idle() || m.answer != nil || m.effect != nil {
			continue
		}
		report := m.core.Glance(m.shownNow())
		w.stats.Glances++
		w.broke(promiseStatusIsTrue(m, report))
		w.broke(promiseNoSecretTold(report))
	}
}

// shownNow is what a reading would find at this moment. It takes no time, and
// leaves no mark.
func (m *machine) shownNow() (api.Snapshot, error) {
	if m.root != present {
		return api.Snapshot{}, api.ErrRootMissing
	}
	var snapshot api.Snapshot
	for _, name := range sortedNames(m.disk.shown[team]) {
		key, isKey := m.w.keyOf[name]
		f := m.disk.shown[team][name]
		switch {
		case !isKey:
		case f.writers > 0:
			snapshot.Held = append(snapshot.Held, api.HeldFile{Key: key, Path: name, Reason: api.HeldUnstable})
		default:
			snapshot.Files = append(snapshot.Files, api.Local{Key: key, Sum: f.text.sum, Bytes: len(f.text.s)})
		}
	}
	return snapshot, nil
}
