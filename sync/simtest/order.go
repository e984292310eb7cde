package simtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// The rules of SYNC.md, sections 1 and 2, that can be broken without a text
// being lost: what must come first, and what must not be done at all.

// promiseScanFirst: a cycle scans before it looks at the server, so that an edit
// made while nothing ran is seen before the first pull.
func promiseScanFirst(r *referee) error {
	if !r.scanned {
		return errors.New("a cycle looks at the server before it has scanned")
	}
	return nil
}

// promiseStopped: nothing is sent, received or installed where the server is
// shut, or went back and nobody said how to go on.
func promiseStopped(r *referee, effect teamsync.Effect) error {
	switch {
	case r.shut:
		return fmt.Errorf("%T at a server that said 404 and had data before", effect)
	case r.back:
		return fmt.Errorf("%T at a server that went back, and nobody was asked", effect)
	}
	return nil
}

// promiseDoorClosed: a 404 while any base exists means no access, never empty.
func promiseDoorClosed(r *referee, report teamsync.Report) error {
	if r.shut && report.Word != teamsync.NoAccess && report.Word != teamsync.Paused {
		return fmt.Errorf("a 404 for a client with bases reads as %s", report.Word)
	}
	return nil
}

// promiseTombsRespected: a key that the client knows to be retired is not sent.
func promiseTombsRespected(r *referee, batch api.Batch) error {
	for _, o := range batch.Entries {
		if r.tombs[o.Key] != 0 {
			return fmt.Errorf("%q is retired and was sent again", o.Key)
		}
	}
	return nil
}

// longestWait is how long a client waits after a failure: servers in this world
// ask for less.
const longestWait = 5 * time.Minute

// promiseTriesAgain: no failure is waited out for longer, however many there
// were.
func promiseTriesAgain(m *machine, report teamsync.Report) error {
	if wait := report.NextRetry.Sub(m.w.now); wait > longestWait {
		return fmt.Errorf("%s gives up for %v: %w", m, wait, report.Err)
	}
	return nil
}

// promiseNothingOverwritten: a push that is accepted replaces what its sender
// had seen, and nothing else.
func promiseNothingOverwritten(s *server, entries []api.Outgoing) error {
	for _, o := range entries {
		if have := s.has(o.Key); have != o.Expect && have != o.Sum.String() {
			return fmt.Errorf("invariant 1: a push replaces %q at %q, its sender saw %q", have, o.Key, o.Expect)
		}
	}
	return nil
}

// promiseRetiredOnPurpose: only what has a tombstone is moved out of a tree.
func promiseRetiredOnPurpose(r *referee, key api.Key) error {
	if r.tombs[key] == 0 {
		return fmt.Errorf("%q is taken out of the tree, and nobody retired it", key)
	}
	return nil
}

// emptyHold is how long a file that had text stays empty before that counts as
// an edit.
const emptyHold = time.Minute

// promiseEmptyWaits: a text is not replaced by nothing before its file was empty
// for a minute, as far as the scans could tell, and in two of them.
func promiseEmptyWaits(m *machine, batch api.Batch) error {
	for _, o := range batch.Entries {
		base := m.state.memory.Bases[o.Key].Sum
		if o.Content != "" || o.Expect == "" || base.IsZero() || base == noText.sum {
			continue
		}
		since, seen := m.referee.empty[o.Key]
		if age := m.w.now.Sub(since); !seen || age < emptyHold {
			return fmt.Errorf("%q was sent empty after %v", o.Key, age)
		}
	}
	return nil
}

// promisePlacement: what is placed is what it says it is, holds no secret, and
// differs from what is there.
func promisePlacement(m *machine, p api.Placement) error {
	switch {
	case api.SumString(p.Content) != p.Sum:
		return fmt.Errorf("%s: the placement of %q does not match its checksum", m, p.Key)
	case strings.Contains(p.Content, secretMark):
		return fmt.Errorf("%s: a secret was placed at %q", m, p.Key)
	case p.Expect == p.Sum && !m.w.history.Merge: // a merge may be what is there
		return fmt.Errorf("%s: %q is placed over itself", m, p.Key)
	}
	return nil
}

// promiseNoRewrite: identical content is never written again.
func promiseNoRewrite(here *inode, m *move) error {
	if here.text.sum == m.Sum && here == m.here && here.gen == m.gen {
		return fmt.Errorf("%q is rewritten with what it has", m.Key)
	}
	return nil
}

// promiseBaseAfterFact: a base is recorded once both sides had it, and the file
// is durable by then, whoever wrote it.
func promiseBaseAfterFact(m *machine, record api.Record) error {
	if m.edits != m.referee.edits || m.root != present || m.referee.accepted != (api.Position{}) {
		return nil // the tree moved on, or a person said what the bases are
	}
	for key, base := range record.Bases {
		if base.Sum.IsZero() || base.Sum == base.Bad || base.Sum == m.state.promised.Bases[key].Sum {
			continue
		}
		name := key.String()
		f := m.disk.shown[team][name]
		if placed := m.referee.placed[key]; m.w.history.Merge && !placed.IsZero() && placed != base.Sum {
			continue // a merge is there, and the server's text is in it
		}
		if f == nil || f.text.sum != base.Sum {
			return fmt.Errorf("%s: the base of %q is recorded before the file is there", m, key)
		}
		if !m.disk.isDurable(team, name) {
			return fmt.Errorf("%s: the base of %q is recorded before the file is durable", m, key)
		}
	}
	return nil
}

// promiseDurableState: what the state acknowledged is there at the next start;
// of a record under way it has all or nothing.
func promiseDurableState(s *state) error {
	for key, base := range s.promised.Bases {
		if !sameBase(base, s.memory.Bases[key]) && !s.isUnderWay(key) {
			return fmt.Errorf("%s: the base of %q was acknowledged and is gone after a crash", s.machine, key)
		}
	}
	for key := range s.memory.Bases {
		if _, known := s.promised.Bases[key]; !known && !s.isUnderWay(key) {
			return fmt.Errorf("%s: the base of %q was forgotten and is back after a crash", s.machine, key)
		}
	}
	moved := s.underWay != nil && s.underWay.View != nil
	if (s.memory.Epoch != s.promised.Epoch || s.memory.Version != s.promised.Version) && !moved {
		return fmt.Errorf("%s: the position was acknowledged and is another after a crash", s.machine)
	}
	return nil
}

func sameBase(a, b api.Base) bool {
	return a.Sum == b.Sum && a.Tomb == b.Tomb && a.Bad == b.Bad && slices.Equal(a.Ring, b.Ring)
}

func (s *state) isUnderWay(key api.Key) bool {
	if s.underWay == nil {
		return false
	}
	_, moved := s.underWay.Bases[key]
	return moved
}

// promiseDurableCopies: saved copies that were acknowledged outlive a crash.
func promiseDurableCopies(s *state) error {
	there := 0
	for _, c := range s.copies {
		if c.promised {
			there++
		}
	}
	if there < s.acknowledged {
		return fmt.Errorf("%s: %d saved copies were acknowledged, %d are there after a crash", s.machine, s.acknowledged, there)
	}
	return nil
}

// promiseOneDaemon: the lock of a root refuses a second process, and goes with
// the first.
func promiseOneDaemon(m *machine) error {
	if err := m.lock(); (err == nil) == m.locked {
		return fmt.Errorf("%s: a second daemon gets %w while the lock is held: %t", m, err, m.locked)
	}
	return nil
}

// lock is what a second process on the same root would get.
func (m *machine) lock() error {
	if m.locked {
		return api.ErrAlreadyRunning
	}
	return nil
}
