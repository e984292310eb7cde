package sync

import (
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// Bounds of one step of a cycle, so that a large root does not sit in memory
// as a whole.
const (
	inspectFiles = 256
	inspectBytes = 1 << 20
	receiveKeys  = 256
	// maxRetries bounds how often one cycle plans again after a lost race.
	maxRetries = 3
)

// cycle is the state of one pass: scan, look, push what is clean, pull.
type cycle struct {
	mode     Mode
	begun    time.Time
	retries  int       // lost races so far
	resumeAt time.Time // set while waiting to look again

	local map[api.Key]api.Local
	unfit map[api.Key]Held // files that the tree holds, where nothing else has their key
	stray []Held           // held things without a key of their own
	held  map[api.Key]Held // held by the plan; decided anew with each view

	inspect  []api.Key              // to read and judge, sorted
	outgoing []api.Outgoing         // judged, sorted, not yet packed
	batches  [][]api.Outgoing       // packed; the last one goes first
	sending  []api.Outgoing         // under way
	pull     []api.Key              // to receive, sorted
	asking   []api.Key              // under way
	clash    map[api.Key]api.Loaded // local texts to save before they are displaced
	bury     []api.Key
	install  Install // under way

	record   api.Record // to commit
	raced    bool       // a race was lost; wait a moment after the commit
	touched  map[api.Key]bool
	again    bool // something moved meanwhile: another cycle is needed
	tally    Tally
	saved    []Conflict
	readOnly error // pushes were refused for want of a role
	placeErr error // of the local disk; the other keys went on
	ending   bool
	err      error // what ended it
}

func newCycle(mode Mode, now time.Time) *cycle {
	return &cycle{
		mode:    mode,
		begun:   now,
		unfit:   make(map[api.Key]Held),
		held:    make(map[api.Key]Held),
		clash:   make(map[api.Key]api.Loaded),
		touched: make(map[api.Key]bool),
	}
}

// answer feeds the answer of the effect under way to the cycle. answered is
// false for an event from outside.
func (c *Core) answer(now time.Time, event Event) (effect Effect, answered bool) {
	if !c.busy {
		return nil, false
	}
	switch e := event.(type) {
	case Scanned:
		return c.onScanned(now, e), true
	case Viewed:
		return c.onViewed(now, e), true
	case Inspected:
		return c.onInspected(now, e), true
	case Sent:
		return c.onSent(now, e), true
	case Received:
		return c.onReceived(now, e), true
	case Installed:
		return c.onInstalled(now, e), true
	case Committed:
		return c.onCommitted(now, e), true
	}
	return nil, false
}

func (c *Core) onScanned(now time.Time, e Scanned) Effect {
	cy := c.cycle
	if e.Err != nil {
		return c.end(now, e.Err)
	}
	cy.local = make(map[api.Key]api.Local, len(e.Snapshot.Files))
	for _, file := range e.Snapshot.Files {
		cy.local[file.Key] = file
	}
	for _, file := range e.Snapshot.Held {
		held := Held{Key: file.Key, Path: file.Path, Reason: file.Reason, Detail: file.Detail}
		cy.again = cy.again || file.Reason == api.HeldUnstable
		if _, taken := cy.local[file.Key]; taken || file.Key.IsZero() {
			cy.stray = append(cy.stray, held)
			continue
		}
		cy.unfit[file.Key] = held
	}
	return c.look()
}

func (c *Core) look() Effect {
	if c.view != nil {
		return Look{c.view.Checksum}
	}
	return Look{}
}

// lookAgain goes on after a lost race.
func (c *Core) lookAgain() Effect {
	c.cycle.resumeAt, c.wakeAt, c.view = time.Time{}, time.Time{}, nil
	return c.look()
}

func (c *Core) onViewed(now time.Time, e Viewed) Effect {
	view, err := e.View, e.Err
	if errors.Is(err, api.ErrNotFound) {
		if c.holdsAnyBase() {
			// It was there: this is a door that was closed, not an empty room.
			return c.end(now, api.ErrNoAccess)
		}
		view, err = &api.View{Sums: make(map[api.Key]api.Checksum)}, nil
	}
	if err != nil {
		return c.end(now, err)
	}
	view = c.merge(view)
	if c.wentBack(view) {
		if c.resolution == "" {
			c.view = nil
			return c.end(now, api.ErrServerChanged)
		}
		c.applyResolution(view)
	}
	c.view = view
	c.planAll(now)
	return c.next(now)
}

// merge completes a view that only says that nothing changed.
func (c *Core) merge(view *api.View) *api.View {
	if !view.NotModified || c.view == nil {
		return view
	}
	full := *c.view
	if view.Epoch != "" {
		full.Epoch, full.Version = view.Epoch, view.Version
	}
	return &full
}

// wentBack reports whether the server is not the one that we followed, or an
// older state of it: restored from a backup, or replaced.
func (c *Core) wentBack(view *api.View) bool {
	if c.memory.Epoch != "" && view.Epoch != "" && view.Epoch != c.memory.Epoch {
		return true
	}
	return view.Version < c.memory.Version
}

// applyResolution drops what can no longer be relied on, in the way that a
// person chose.
func (c *Core) applyResolution(view *api.View) {
	for key, base := range c.memory.Bases {
		remote, live := view.Sums[key]
		if c.resolution == Reupload && live {
			c.memory.Bases[key] = agreedOn(base, remote)
			continue
		}
		c.memory.Bases[key] = api.Base{Ring: pushRing(base, api.Checksum{})}
	}
	if c.resolution == Reupload {
		// Texts without a base are pushed as well, over what the server has.
		for key := range c.cycle.local {
			if remote, live := view.Sums[key]; live && c.memory.Bases[key].Sum.IsZero() {
				c.memory.Bases[key] = agreedOn(c.memory.Bases[key], remote)
			}
		}
	}
	c.memory.Epoch, c.memory.Version, c.resolution = "", 0, ""
}

func (c *Core) holdsAnyBase() bool {
	if c.memory.Version > 0 {
		return true
	}
	for _, base := range c.memory.Bases {
		if !base.Sum.IsZero() || base.Tomb != 0 {
			return true
		}
	}
	return false
}

// planAll decides about every key that either side has or that is remembered.
func (c *Core) planAll(now time.Time) {
	cy := c.cycle
	cy.inspect, cy.outgoing, cy.batches, cy.pull, cy.bury = nil, nil, nil, nil, nil
	clear(cy.clash)
	clear(cy.held)
	for _, key := range c.allKeys() {
		c.planKey(now, key)
	}
	c.forgetTimes()
}

// allKeys returns every key of interest, sorted.
func (c *Core) allKeys() []api.Key {
	seen := make(map[api.Key]struct{}, len(c.cycle.local)+len(c.view.Sums))
	for key := range c.cycle.local {
		seen[key] = struct{}{}
	}
	for key := range c.view.Sums {
		seen[key] = struct{}{}
	}
	for key := range c.view.Tombs {
		seen[key] = struct{}{}
	}
	for key := range c.memory.Bases {
		seen[key] = struct{}{}
	}
	keys := make([]api.Key, 0, len(seen))
	for key := range seen {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, api.Key.Compare)
	return keys
}

// facts gathers what the plan for key depends on.
func (c *Core) facts(key api.Key) Facts {
	_, unfit := c.cycle.unfit[key]
	return Facts{
		Local:  c.cycle.local[key].Sum,
		Held:   unfit,
		Remote: c.view.Sums[key],
		Tomb:   c.view.Tombs[key],
		Base:   c.memory.Bases[key],
	}
}

// planKey decides about one key by what the scan saw.
func (c *Core) planKey(now time.Time, key api.Key) {
	if held, ok := c.emptied(now, key); ok {
		c.cycle.held[key] = held
		return
	}
	f := c.facts(key)
	action := Plan(f)
	switch action {
	case Push, Displace:
		if action == Displace && c.cycle.mode.NoPull || action == Push && c.cycle.mode.NoPush {
			return
		}
		if past, ok := c.refused[key]; ok && past.sum == f.Local && action == Push {
			c.cycle.held[key] = past.held
			return
		}
		// Only bytes that were read again and judged may leave or be saved.
		c.cycle.inspect = append(c.cycle.inspect, key)
	default:
		c.carry(now, key, f, action)
	}
}

// carry queues an action that needs no look at the local bytes.
func (c *Core) carry(now time.Time, key api.Key, f Facts, action Action) {
	cy := c.cycle
	switch action {
	case Agree:
		c.remember(key, agreedOn(f.Base, f.Remote))
	case MarkBuried:
		c.remember(key, buriedAt(f.Base, f.Tomb))
	case Forget:
		c.remember(key, api.Base{})
	case HoldForgotten:
		cy.held[key] = Held{
			Key: key, Path: key.String(), Reason: api.HeldForgottenOnServer,
			Detail: "the team retired this key, and this text is not one that the server has seen",
		}
	case HoldBad:
		cy.held[key] = c.badHold(key)
	case Bury:
		if !cy.mode.NoPull {
			cy.bury = append(cy.bury, key)
		}
	case Pull:
		if !cy.mode.NoPull {
			cy.pull = append(cy.pull, key)
		}
	case Restore:
		if !cy.mode.NoPull && c.absentLongEnough(now, key) {
			cy.pull = append(cy.pull, key)
		}
	}
}

// badHold describes a content of the server that is kept away from agents.
func (c *Core) badHold(key api.Key) Held {
	return Held{
		Key: key, Path: key.String(), Reason: api.HeldSecretOnServer,
		Detail: "the server's text holds what looks like a secret; it was not written here",
	}
}

// absentLongEnough reports whether a deleted file may be restored: editors that
// rename leave a gap in which the file does not exist.
func (c *Core) absentLongEnough(now time.Time, key api.Key) bool {
	since, seen := c.missing[key]
	if !seen {
		since = now
		c.missing[key] = now
	}
	if c.cycle.mode.Manual || now.Sub(since) >= c.timing.Debounce {
		return true
	}
	c.recheckBy(since.Add(c.timing.Debounce))
	return false
}

// emptied holds a file that had text and is now empty: more often a save that
// is under way than an edit.
func (c *Core) emptied(now time.Time, key api.Key) (Held, bool) {
	file, here := c.cycle.local[key]
	base := c.memory.Bases[key].Sum
	if !here || file.Bytes > 0 || base.IsZero() || base == file.Sum {
		return Held{}, false
	}
	seen, ok := c.empty[key]
	if !ok {
		seen.at = now
		if !file.Modified.IsZero() && file.Modified.Before(now) && c.cycle.mode.Manual {
			seen = emptySince{file.Modified, 1} // a process that just started asks the file's own clock
		}
	}
	seen.scans++
	c.empty[key] = seen
	if seen.scans >= 2 && now.Sub(seen.at) >= c.timing.EmptyHold {
		return Held{}, false
	}
	c.recheckBy(seen.at.Add(c.timing.EmptyHold))
	return Held{
		Key: key, Path: key.String(), Reason: api.HeldEmpty,
		Detail: "the file had text and is empty now; it counts as an edit after a minute",
	}, true
}

// recheckBy wants another cycle at a time.
func (c *Core) recheckBy(at time.Time) {
	if c.recheckSoon.IsZero() || at.Before(c.recheckSoon) {
		c.recheckSoon = at
	}
}

// remember changes a base, now in memory and durably with the next commit.
func (c *Core) remember(key api.Key, base api.Base) {
	if c.cycle.mode.DryRun {
		return
	}
	if c.cycle.record.Bases == nil {
		c.cycle.record.Bases = make(map[api.Key]api.Base)
	}
	c.cycle.record.Bases[key] = base
}

// forgetTimes drops the clocks of keys that no longer need one.
func (c *Core) forgetTimes() {
	for key := range c.missing {
		if _, here := c.cycle.local[key]; here || c.memory.Bases[key].Sum.IsZero() {
			delete(c.missing, key)
		}
	}
	for key := range c.empty {
		if file, here := c.cycle.local[key]; !here || file.Bytes > 0 {
			delete(c.empty, key)
		}
	}
}
