package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
)

// redact takes a content away for good, as a maintainer does: what is current is
// replaced by a text without it, or retired.
func (w *World) redact(key api.Key, op Op) {
	past := w.server.history[key]
	if len(past) == 0 {
		return
	}
	w.stats.fault(Redact)
	var instead *text
	if op.Arg%2 == 0 {
		clean := textOf(fmt.Sprintf("left by somebody: without what was redacted %d\n", w.server.changes))
		instead = &clean
	}
	w.server.takeAway(past[op.Arg/2%len(past)].sum, instead)
}

// takeAway enters a content in the ledger and leaves it nowhere. Where it is
// current, instead takes its place, a tombstone for nil.
func (s *server) takeAway(sum api.Checksum, instead *text) {
	s.changed()
	s.ledger[sum] = true
	for _, key := range slices.SortedFunc(maps.Keys(s.live), api.Key.Compare) {
		if s.live[key].sum != sum {
			continue
		}
		if instead == nil {
			delete(s.live, key)
			s.tombs[key] = s.version
			s.least--
			continue
		}
		s.put(key, *instead)
	}
	for key, past := range s.history {
		s.history[key] = slices.DeleteFunc(slices.Clone(past), func(t text) bool { return t.sum == sum })
	}
}

// redactions is the ledger, sorted.
func (s *server) redactions() []api.Checksum { return sorted(s.ledger) }

func sorted(sums map[api.Checksum]bool) []api.Checksum {
	return slices.SortedFunc(maps.Keys(sums), func(a, b api.Checksum) int { return slices.Compare(a[:], b[:]) })
}

// promiseConfirmedClean says what a confirmation means: of what the ledger had at
// that position, no base and no saved copy is left. Later redactions are another
// matter, so only a confirmation of the newest position is judged.
func promiseConfirmedClean(m *machine, at api.Position) error {
	s := m.w.server
	if at.Epoch != s.epoch || at.Version != s.version {
		return nil
	}
	for _, c := range m.state.copies {
		if s.ledger[c.text.sum] {
			return fmt.Errorf("confirmation: %s confirmed %v and has a saved copy of %q", m, at, c.text.s)
		}
	}
	for key, base := range m.state.memory.Bases {
		if s.ledger[base.Sum] || slices.ContainsFunc(base.Ring, func(sum api.Checksum) bool { return s.ledger[sum] }) {
			return fmt.Errorf("confirmation: %s confirmed %v and remembers what was redacted at %q", m, at, key)
		}
	}
	return nil
}

// promiseRedactedGone says what a redaction means: a client that has settled has
// such a content nowhere, but in a file that it holds and lists. The backup of
// a person's editor is no file of ours.
func promiseRedactedGone(m *machine) error {
	held := make(map[string]bool)
	for _, h := range m.core.Report().Held {
		held[h.Path] = true
	}
	for place, files := range m.disk.shown {
		for name, f := range files {
			if dir(place) == team && (held[name] || strings.HasSuffix(name, "~")) {
				continue
			}
			if m.w.server.ledger[f.text.sum] {
				return fmt.Errorf("redaction: %s still has %q at %q, place %d", m, f.text.s, name, place)
			}
		}
	}
	for _, c := range m.state.copies {
		if m.w.server.ledger[c.text.sum] {
			return fmt.Errorf("redaction: %s still has a saved copy of %q", m, c.text.s)
		}
	}
	return nil
}
