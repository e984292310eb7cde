package statedir

import (
	"maps"
	"slices"

	"github.com/teammem/teammemd/api"
)

// isZero reports whether a base says nothing, which means "forget the key".
func isZero(b api.Base) bool {
	return b.Sum.IsZero() && b.Tomb == 0 && len(b.Ring) == 0 && b.Bad.IsZero()
}

func equal(a, b api.Base) bool {
	return a.Sum == b.Sum && a.Tomb == b.Tomb && a.Bad == b.Bad && slices.Equal(a.Ring, b.Ring)
}

// delta returns what of change is new to memory.
func delta(memory api.Memory, change api.Record) step {
	var d step
	if view := change.View; view != nil && (view.Epoch != memory.Epoch || view.Version != memory.Version) {
		d.View = &api.Position{Epoch: view.Epoch, Version: view.Version}
	}
	if !change.LastPush.IsZero() && !change.LastPush.Equal(memory.LastPush) {
		d.Push = change.LastPush.Round(0).UTC()
	}
	if !change.LastPull.IsZero() && !change.LastPull.Equal(memory.LastPull) {
		d.Pull = change.LastPull.Round(0).UTC()
	}
	if change.Rules != memory.Rules {
		d.Rules = change.Rules
	}
	for key, next := range change.Bases {
		if now := memory.Bases[key]; !equal(now, next) {
			next.Ring = slices.Clone(next.Ring)
			d.bases = append(d.bases, keyed{key, next})
		}
	}
	return d
}

// line returns the step as it is written.
func (s *step) encode() *line {
	l := s.line
	if len(s.bases) > 0 {
		l.Bases = make(map[string]*base, len(s.bases))
	}
	for _, k := range s.bases {
		l.Bases[k.key.String()] = encodeBase(k.base)
	}
	return &l
}

// apply carries a step out on memory. It keeps the step's rings.
func apply(memory *api.Memory, s *step) {
	if s.View != nil {
		memory.Epoch, memory.Version = s.View.Epoch, s.View.Version
	}
	if !s.Push.IsZero() {
		memory.LastPush = s.Push
	}
	if !s.Pull.IsZero() {
		memory.LastPull = s.Pull
	}
	if s.Rules != "" {
		memory.Rules = s.Rules
	}
	for _, k := range s.bases {
		if isZero(k.base) {
			delete(memory.Bases, k.key)
			continue
		}
		memory.Bases[k.key] = k.base
	}
}

// clone returns a copy that shares nothing with memory.
func clone(memory api.Memory) api.Memory {
	memory.Bases = maps.Clone(memory.Bases)
	for key, b := range memory.Bases {
		if len(b.Ring) > 0 {
			b.Ring = slices.Clone(b.Ring)
			memory.Bases[key] = b
		}
	}
	return memory
}

// estimate returns about how many bytes a base takes in the journal.
func estimate(key api.Key, b api.Base) int64 {
	const perKey, perSum = 70, 44
	return int64(perKey + len(key.String()) + perSum*len(b.Ring))
}
