package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// state is the engine's State on a simulated disk: a journal of records, of
// which a loss of power may take what was not synced, and the saved copies.
type state struct {
	*machine
	memory  api.Memory   // what the synced records say
	pending []api.Record // written, not synced
	copies  []copied

	// What the engine was told to be durable, to hold against what is found.
	promised     api.Memory
	underWay     *api.Record
	acknowledged int                   // saved copies
	purged       map[api.Checksum]bool // durable
}

// copied is one saved copy.
type copied struct {
	key      api.Key
	text     text
	synced   bool
	promised bool // the engine was told that it is durable
}

func newState(m *machine) *state {
	return &state{machine: m, memory: emptyMemory(), promised: emptyMemory()}
}

func emptyMemory() api.Memory { return api.Memory{Bases: map[api.Key]api.Base{}} }

// apply takes a record into a memory.
func apply(memory *api.Memory, record api.Record) {
	for key, base := range record.Bases {
		if base.Sum.IsZero() && base.Tomb == 0 && base.Bad.IsZero() && len(base.Ring) == 0 {
			delete(memory.Bases, key)
			continue
		}
		memory.Bases[key] = base
	}
	if record.Rules != "" {
		memory.Rules = record.Rules
	}
	if record.View != nil {
		memory.Epoch, memory.Version = record.View.Epoch, record.View.Version
	}
	if !record.LastPush.IsZero() {
		memory.LastPush = record.LastPush
	}
	if !record.LastPull.IsZero() {
		memory.LastPull = record.LastPull
	}
}

// Load returns what was committed; the process that starts has loaded it.
func (s *state) Load(context.Context) (api.Memory, error) { return s.copyOf(s.memory), nil }

func (s *state) copyOf(memory api.Memory) api.Memory {
	memory.Bases = maps.Clone(memory.Bases)
	return memory
}

// load reads the journal, and holds it against what was promised.
func (s *state) load() (api.Memory, error) {
	s.reopen()
	err := promiseDurableState(s)
	s.promised, s.underWay = s.copyOf(s.memory), nil
	return s.copyOf(s.memory), err
}

// reopen is what the next process finds after this one: all that was written.
func (s *state) reopen() {
	for _, record := range s.pending {
		apply(&s.memory, record)
	}
	s.pending = s.pending[:0]
}

// crash keeps a front part of what was not synced.
func (s *state) crash() {
	s.pending = s.pending[:s.w.rand.IntN(len(s.pending)+1)]
	kept := s.copies[:0]
	for _, c := range s.copies {
		if c.synced || s.w.rand.IntN(2) == 0 {
			c.synced = true
			kept = append(kept, c)
		}
	}
	s.copies = kept
	s.w.broke(promiseDurableCopies(s))
}

// Commit appends a record and makes it durable.
func (s *state) Commit(_ context.Context, record api.Record) error {
	if err := s.between(); err != nil {
		return err
	}
	if s.stateFull > 0 && !s.w.settling {
		s.stateFull--
		s.w.stats.fault(StateFull)
		return fmt.Errorf("writing state: %w", errNoSpace)
	}
	s.referee.committing(s.machine, record)
	s.underWay = &record
	s.pending = append(s.pending, record)
	if !planted.In(planted.StateNotDurable) {
		if err := s.between(); err != nil {
			return err
		}
		if s.stateBroken > 0 && !s.w.settling {
			s.stateBroken--
			s.w.stats.fault(StateBroken)
			s.pending, s.underWay = s.pending[:0], nil // cut off
			return fmt.Errorf("writing state: %w", errIO)
		}
		s.reopen()
	}
	s.disk.written++
	apply(&s.promised, record)
	s.referee.recorded(record)
	s.underWay = nil
	return s.between()
}

// Save keeps a copy durably.
func (s *state) Save(_ context.Context, saved api.SavedCopy) (string, error) {
	if err := s.between(); err != nil {
		return "", err
	}
	content := text{saved.Content, saved.Sum}
	if s.purged[saved.Sum] {
		return "", nil
	}
	id := api.SumString(saved.Key.String() + saved.Sum.Hex()).Hex()[:8]
	if s.copiesFull > 0 && !s.w.settling {
		s.copiesFull--
		s.w.stats.fault(CopiesFull)
		return "", fmt.Errorf("saving a copy: %w", errNoSpace)
	}
	at := s.copyAt(saved.Key, content)
	if at < 0 {
		at = len(s.copies)
		s.copies = append(s.copies, copied{key: saved.Key, text: content})
		s.disk.written += len(saved.Content)
	}
	if err := s.between(); err != nil {
		return "", err
	}
	if c := &s.copies[at]; !c.promised {
		c.synced, c.promised = true, true
		s.acknowledged++
		s.w.stats.Copies++
	}
	if planted.In(planted.CopyInTree) {
		s.disk.relink(link{team, "notes/conflict.md", &inode{text: content, disk: noText, dirty: true}})
	}
	return id, s.between()
}

// Purge remembers what must not be kept, then removes it.
func (s *state) Purge(_ context.Context, sums []api.Checksum) error {
	if err := s.between(); err != nil {
		return err
	}
	if s.copiesFull > 0 && !s.w.settling {
		s.copiesFull--
		s.w.stats.fault(CopiesFull)
		return fmt.Errorf("purging: %w", errNoSpace)
	}
	if s.purged == nil {
		s.purged = make(map[api.Checksum]bool)
	}
	for _, sum := range sums {
		if !s.purged[sum] {
			s.purged[sum] = true
			s.disk.written++
		}
	}
	for i, c := range slices.Backward(s.copies) {
		if err := s.between(); err != nil {
			return err
		}
		if s.purged[c.text.sum] {
			if c.promised {
				s.acknowledged--
			}
			s.copies = slices.Delete(s.copies, i, i+1)
		}
	}
	return s.between()
}

func (s *state) hasCopy(key api.Key, content text) bool { return s.copyAt(key, content) >= 0 }

func (s *state) copyAt(key api.Key, content text) int {
	return slices.IndexFunc(s.copies, func(c copied) bool { return c.key == key && c.text.sum == content.sum })
}

func (s *state) hasBase(key api.Key) bool { return s.memory.Bases[key].Live() }

// knows reports whether the journal names sum as a former content of key.
func (s *state) knows(key api.Key, sum api.Checksum) bool {
	base := s.memory.Bases[key]
	return base.Sum == sum || slices.Contains(base.Ring, sum)
}
