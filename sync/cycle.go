package sync

import (
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
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
	twice    bool // reads are valid as in a manual sync
	begun    time.Time
	retries  int       // lost races so far
	resumeAt time.Time // set while waiting to look again

	local map[api.Key]api.Local
	unfit map[api.Key]Held // files that the tree holds, where nothing else has their key
	stray []Held           // held things without a key of their own
	held  map[api.Key]Held // held by the plan; decided anew with each view

	inspect  []api.Key         // to read and judge, sorted
	rechecks int               // those of inspect, and before, that have nowhere to travel
	outgoing []api.Outgoing    // judged, sorted, not yet packed
	batches  [][]api.Outgoing  // packed; the last one goes first
	sending  []api.Outgoing    // under way
	pull     []api.Key         // to receive, sorted
	doubted  []api.Key         // to receive, only to judge them anew
	asking   []api.Key         // under way
	clash    map[api.Key]clash // local texts to save before they are displaced
	bury     []api.Key
	install  Install // under way

	record   api.Record               // to commit
	texts    map[api.Checksum]string  // of the record's bases
	agreed   map[api.Key]api.Checksum // the record's bases of files that are not ours
	merged   map[api.Key]api.Incoming // what of the server is in the merges to place
	moved    bool                     // the server did, by others, since the cycle before
	raced    bool                     // a race was lost; wait a moment after the commit
	touched  map[api.Key]bool
	anew     bool // the rules differ from those of the memory: all is judged again
	unread   bool // something could not be read, and so not be judged
	again    bool // something moved meanwhile: another cycle is needed
	unstable bool // a file was being written
	tally    Tally
	planned  int // keys to move in all
	saved    []Conflict
	readOnly error // pushes were refused for want of a role
	placeErr error // of the local disk; the other keys went on
	// resolving: the record under way is what a person's word does to the bases.
	resolving bool
	ending    bool
	err       error // what ended it
}

// clash is the local side of a conflict.
type clash struct {
	api.Loaded
	base *string // the text that both sides began with, nil when it is not kept
}

func newCycle(mode Mode, now time.Time) *cycle {
	return &cycle{
		mode:    mode,
		begun:   now,
		unfit:   make(map[api.Key]Held),
		held:    make(map[api.Key]Held),
		clash:   make(map[api.Key]clash),
		texts:   make(map[api.Checksum]string),
		agreed:  make(map[api.Key]api.Checksum),
		merged:  make(map[api.Key]api.Incoming),
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
	case Purged:
		return c.onPurged(now, e), true
	case Confirmed:
		return c.onConfirmed(now, e), true
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
		if base := c.memory.Bases[file.Key].Sum; planted.In(planted.PullFirst) && c.done == 0 && !base.IsZero() {
			file.Sum = base
		}
		cy.local[file.Key] = file
	}
	for _, file := range e.Snapshot.Held {
		held := Held{Key: file.Key, Path: file.Path, Reason: file.Reason, Detail: file.Detail}
		if file.Reason == api.HeldUnstable {
			cy.again, cy.unstable = true, true
		}
		if _, taken := cy.local[file.Key]; taken || file.Key.IsZero() {
			cy.stray = append(cy.stray, held)
			continue
		}
		cy.unfit[file.Key] = held
	}
	c.forgetEmpty()
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
		if c.holdsAnyBase() && !planted.In(planted.NotFoundIsEmpty) {
			// It was there: this is a door that was closed, not an empty room.
			return c.end(now, api.ErrNoAccess)
		}
		view, err = &api.View{Sums: make(map[api.Key]api.Checksum)}, nil
	}
	if err != nil {
		return c.end(now, err)
	}
	view = c.complete(view)
	switch {
	case !c.wentBack(view):
		c.resolution = "" // a word counts for the change that it was about, not for a later one
	case !c.mayResolve(view):
		c.view = nil
		return c.end(now, api.ErrServerChanged)
	}
	c.ledgerAt = api.Position{Epoch: view.Epoch, Version: view.Version}
	c.cycle.moved = c.view == nil || view.Version != c.view.Version
	c.view = view
	c.ruled(e.Rules)
	if effect := c.purge(); effect != nil {
		return effect
	}
	return c.viewed(now)
}

// viewed goes on once the view is taken in.
func (c *Core) viewed(now time.Time) Effect {
	if c.wentBack(c.view) {
		return c.resolve() // it is planned once that is recorded
	}
	c.rememberWashed()
	c.planAll(now)
	return c.next(now)
}

// complete fills in a view that only says that nothing changed.
func (c *Core) complete(view *api.View) *api.View {
	if !view.NotModified || c.view == nil {
		return view
	}
	full := *c.view
	if view.Epoch != "" {
		full.Epoch, full.Version = view.Epoch, view.Version
	}
	return &full
}

func (c *Core) holdsAnyBase() bool {
	if c.memory.Version > 0 {
		return true
	}
	for _, base := range c.memory.Bases {
		if !base.Sum.IsZero() || base.Tomb != 0 || len(base.Ring) > 0 {
			return true
		}
	}
	return false
}

// holdsTwin reports whether a file waits behind one whose name differs from its
// own in case alone.
func (cy *cycle) holdsTwin() bool {
	for _, held := range cy.unfit {
		if held.Reason == api.HeldCaseTwin {
			return true
		}
	}
	return slices.ContainsFunc(cy.stray, func(held Held) bool { return held.Reason == api.HeldCaseTwin })
}
