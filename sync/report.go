package sync

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// Report is what a person is told about a root. It is a value: a later cycle
// does not change it.
type Report struct {
	Word Word
	Tally
	// Total counts what was moved since the engine began to run.
	Total Tally
	// Unchanged counts files that were and are equal on both sides.
	Unchanged int
	// Pending counts keys that still have to travel, held ones left out.
	Pending int
	// Waiting are the first few of the pending keys, sorted.
	Waiting   []api.Key
	Held      []Held     // sorted by path
	Conflicts []Conflict // saved copies that this cycle made
	Position  api.Position
	LastPush  time.Time
	LastPull  time.Time
	NextRetry time.Time // zero unless a failure is waited out
	Took      time.Duration
	// Progress is of the cycle under way, if there is one.
	Progress Progress
	// Again is true when something moved during the cycle, so that another one
	// follows by itself.
	Again bool
	// Err is what ended the cycle, nil for a cycle that ran through.
	Err error
}

// Tally counts what one cycle moved, in keys.
type Tally struct {
	Sent     int
	Received int // retirements included
	Restored int // deleted here, brought back
}

// Held is one thing that stays local, and why.
type Held struct {
	Key    api.Key // zero when the name is no key
	Path   string
	Reason api.Reason
	Detail string // one clause for people, without content
	Line   int    // 1-based, 0 = not about a line
	Column int    // 1-based, in bytes
	Rule   string
	Tier   string
	More   int // further findings in the same file
	// Remote says that it is about the server's side: there is no file here.
	Remote bool
	// OnServer says that the server has this very text already.
	OnServer bool
	// Placing says that the server's text could not be written here.
	Placing bool
}

// Conflict is one saved copy.
type Conflict struct {
	ID  string
	Key api.Key
	At  time.Time
}

// Report returns what the last cycle found.
func (c *Core) Report() Report {
	r := c.report
	r.Progress = c.progress()
	if c.failed != nil || r.Again {
		r.NextRetry = c.notBefore
	}
	return r
}

func (c *Core) needsCommit() bool {
	r := c.cycle.record
	return len(r.Bases) > 0 || r.View != nil || r.Rules != "" || !r.LastPush.IsZero() || !r.LastPull.IsZero()
}

func (c *Core) commit() Effect {
	if len(c.cycle.record.Bases) > 0 {
		// Bases are worth what their server is: without its position, a server
		// that goes back after a cycle that failed would be followed.
		c.followed()
	}
	return Commit{Record: c.cycle.record, Texts: c.cycle.texts, Agreed: c.cycle.agreed}
}

// followed puts the server's position into the record, where it is a new one.
func (c *Core) followed() {
	if c.view == nil {
		return
	}
	at := positionOf(c.view)
	if at != (api.Position{Epoch: c.memory.Epoch, Version: c.memory.Version}) {
		c.cycle.record.View = &at
	}
}

// onCommitted makes the record the memory. A base counts only once it is
// durable: until then a crash must find the old one.
func (c *Core) onCommitted(now time.Time, e Committed) Effect {
	cy := c.cycle
	if e.Err != nil {
		if cy.resolving {
			c.view = nil // of a server that we do not follow yet
		}
		return c.end(now, e.Err)
	}
	for _, key := range e.Left {
		delete(cy.record.Bases, key) // found equal again, by the next cycle
		cy.again, cy.placeErr = true, e.Why
	}
	c.learn()
	resolved := cy.resolving
	if resolved {
		c.resolved()
	}
	switch {
	case cy.ending:
		return c.last(now, cy.err)
	case resolved:
		c.planAll(now)
	case cy.raced:
		return c.pauseForRace(now)
	case planted.In(planted.StateFirst) && len(cy.install.Placements) > 0:
		return cy.install
	}
	return c.next(now)
}

// learn takes what was recorded into the memory.
func (c *Core) learn() {
	cy := c.cycle
	for key, base := range cy.record.Bases {
		delete(c.washed, key)
		if c.memory.Bases[key].Live() != base.Live() && cy.holdsTwin() {
			cy.again = true // the other of two twins may come before it now
		}
		if isBlank(base) {
			delete(c.memory.Bases, key)
			continue
		}
		c.memory.Bases[key] = base
	}
	if cy.record.Rules != "" {
		c.memory.Rules = cy.record.Rules
		clear(c.judged)
	}
	if view := cy.record.View; view != nil {
		c.memory.Epoch, c.memory.Version = view.Epoch, view.Version
	}
	if !cy.record.LastPush.IsZero() {
		c.memory.LastPush = cy.record.LastPush
	}
	if !cy.record.LastPull.IsZero() {
		c.memory.LastPull = cy.record.LastPull
	}
	cy.record = api.Record{}
	cy.texts, cy.agreed = make(map[api.Checksum]string), make(map[api.Key]api.Checksum)
}

// end brings the cycle to its end: what was agreed is committed first, the
// server's position with it.
func (c *Core) end(now time.Time, err error) Effect {
	cy := c.cycle
	if cy.ending {
		return c.last(now, errors.Join(cy.err, err)) // the commit is over, or failed
	}
	cy.ending, cy.err = true, err
	if err == nil && !cy.mode.DryRun {
		c.followed()
		c.judgedAll()
	}
	if c.needsCommit() {
		return c.commit()
	}
	return c.last(now, err)
}

// last confirms what was cleaned before it finishes.
func (c *Core) last(now time.Time, err error) Effect {
	if effect := c.confirm(err); effect != nil {
		return effect
	}
	return c.finish(now, err)
}

// finish reports, and schedules what is left to do.
func (c *Core) finish(now time.Time, err error) Effect {
	cy := c.cycle
	if err == nil {
		err = errors.Join(cy.readOnly, cy.placeErr)
	}
	c.failed = err
	c.report = c.describe(now, err)
	c.cycle = nil
	c.restless = c.restless && cy.unstable
	c.done++
	switch {
	case cy.mode.DryRun:
		c.dirty = true
	case err != nil:
		c.retryLater(now, err, cy.tally != Tally{})
	case cy.again:
		// Something moved meanwhile: files settle within the debounce, and a
		// race was waited out already. The wait doubles should it not settle.
		// Under constant writes it is kept short: a moment of rest must be met.
		most := 7
		if c.restless {
			most = 2
		}
		c.dirty, c.notBefore = true, now.Add(c.timing.settle()<<min(c.unrest, most))
		c.unrest++
	default:
		c.unrest = 0
		// What half a cycle left is for a whole one; so are new rules, by which it
		// has not judged everything.
		half := cy.mode.NoPush || cy.mode.NoPull
		c.dirty = c.dirty || half && (c.report.Pending > 0 || cy.anew)
	}
	if err == nil {
		c.wait.Reset()
		c.portion = receiveKeys
	}
	return nil
}

func (c *Core) describe(now time.Time, err error) Report {
	cy := c.cycle
	r := Report{
		Tally:     cy.tally,
		Conflicts: cy.saved,
		LastPush:  c.memory.LastPush,
		LastPull:  c.memory.LastPull,
		Position:  api.Position{Epoch: c.memory.Epoch, Version: c.memory.Version},
		Took:      now.Sub(cy.begun),
		Again:     cy.again,
		Err:       err,
	}
	if c.view != nil {
		for _, bad := range c.view.Invalid {
			r.Held = append(r.Held, Held{
				Path: bad, Reason: api.HeldBadName,
				Detail: "the server sent a key that is not safe to use as a path; ask its maintainer to retire it",
			})
		}
	}
	r.Held = append(r.Held, cy.stray...)
	for _, held := range cy.unfit {
		r.Held = append(r.Held, held)
	}
	for _, held := range cy.held {
		r.Held = append(r.Held, held)
	}
	slices.SortFunc(r.Held, func(a, b Held) int { return strings.Compare(a.Path, b.Path) })
	var waiting []api.Key
	r.Unchanged, waiting = c.count()
	r.Pending, r.Waiting = len(waiting), firstOf(waiting)
	if cy.mode.DryRun {
		r.Tally = c.foreseen()
	} else {
		c.total.Sent += cy.tally.Sent
		c.total.Received += cy.tally.Received
		c.total.Restored += cy.tally.Restored
	}
	r.Total = c.total
	r.Word = c.word(err, r.Pending)
	return r
}

// foreseen counts what a dry run would have moved.
func (c *Core) foreseen() Tally {
	cy := c.cycle
	tally := Tally{Sent: len(cy.outgoing), Received: len(cy.pull) + len(cy.bury)}
	for _, key := range cy.pull {
		if Plan(c.facts(key)) == Restore {
			tally.Received--
			tally.Restored++
		}
	}
	return tally
}

// count tells how many keys rest and which still have to travel.
func (c *Core) count() (unchanged int, pending []api.Key) {
	cy := c.cycle
	if c.view == nil {
		for key, file := range cy.local {
			if c.memory.Bases[key].Sum == file.Sum {
				unchanged++
			} else if _, held := cy.held[key]; !held {
				pending = append(pending, key)
			}
		}
		return unchanged, pending
	}
	for _, key := range c.allKeys() {
		if _, held := cy.held[key]; held || cy.touched[key] && c.memory.Bases[key].Sum == cy.local[key].Sum {
			continue
		}
		switch Plan(c.facts(key)) {
		case Nothing:
			if file, here := cy.local[key]; here && file.Sum == c.memory.Bases[key].Sum {
				unchanged++
			}
		case Push, Pull, Restore, Displace, Bury:
			pending = append(pending, key)
		}
	}
	return unchanged, pending
}

// word sums up a cycle.
func (c *Core) word(err error, pending int) Word {
	switch {
	case errors.Is(err, api.ErrRootMissing):
		return RootMissing
	case errors.Is(err, api.ErrServerChanged):
		return ServerChanged
	case errors.Is(err, api.ErrSignedOut):
		return SignedOut
	case errors.Is(err, api.ErrNoAccess), errors.Is(err, api.ErrForbidden):
		return NoAccess
	case errors.Is(err, api.ErrPrecondition):
		return Pending
	case api.ExitCode(err) == api.ExitTempFail:
		return Offline
	case err != nil:
		return Halted
	case c.paused:
		return Paused
	case (pending > 0 || c.cycle.again) && !planted.In(planted.FalseInSync):
		return Pending
	}
	return InSync
}

// refreshWord keeps the word true between reports.
func (c *Core) refreshWord() {
	switch {
	case c.paused:
		c.report.Word = Paused
	case c.cycle != nil && c.failed == nil:
		c.report.Word = Syncing
	case c.report.Word == Paused:
		c.report.Word = Pending
	}
}
