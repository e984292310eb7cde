package sync

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// Timing of a core. The zero value of each field means its default.
type Timing struct {
	// Debounce is how long a file must be quiet before it is read, and how long
	// a deletion must last before the file is restored. Default 2 s.
	Debounce time.Duration
	// Poll is the interval of looks at a server that cannot be followed, before
	// jitter of a quarter either way. Default [api.PollInterval].
	Poll time.Duration
	// Recheck is the interval of full readings while all is quiet. Default 5
	// minutes.
	Recheck time.Duration
	// EmptyHold is how long a file that had text must stay empty before its
	// emptiness counts as an edit. Default 60 s.
	EmptyHold time.Duration
}

func (t Timing) withDefaults() Timing {
	fill := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	fill(&t.Debounce, 2*time.Second)
	fill(&t.Poll, api.PollInterval)
	fill(&t.Recheck, 5*time.Minute)
	fill(&t.EmptyHold, time.Minute)
	return t
}

// settle is how long a file must have been unchanged for its reading to count:
// half a second, or the debounce where that is shorter.
func (t Timing) settle() time.Duration { return min(500*time.Millisecond, t.Debounce) }

// Core is the deterministic heart of the engine. It is not safe for concurrent
// use; whoever owns it feeds it events one at a time and carries out the effect
// that [Core.Step] returns before the next step. Equal events at equal times
// with an equal random source give equal effects.
type Core struct {
	timing Timing
	rand   *rand.Rand
	wait   *backoff.ExponentialBackOff

	// What is known.
	memory  api.Memory
	view    *api.View // the server's last complete view, kept current by our own pushes
	missing map[api.Key]time.Time
	empty   map[api.Key]emptySince
	refused map[api.Key]verdict
	// redacted are the contents that the team took away and that were purged here.
	redacted map[api.Checksum]bool
	// ledgerAt is the position whose ledger the last look brought, and confirmed the
	// one up to which the server was told that all of it was carried out here.
	ledgerAt, confirmed api.Position
	unconfirmed         bool // something was purged since
	// washed are the bases that named what was redacted, and whose change is not
	// recorded yet.
	washed map[api.Key]bool
	rules  string // what the guard judges by, as far as it is known
	// judged are the texts, equal on both sides, that were found clean by rules
	// while memory tells of other rules.
	judged map[api.Key]api.Checksum

	// What is wanted.
	dirty      bool // the tree or the server may have changed
	full       bool
	asked      *Mode
	paused     bool
	resolution Resolution   // a person's word on a changed server, until what it does is recorded
	about      api.Position // the server that it was found to be about
	following  bool
	merging    bool // see SetMerging
	onDemand   bool // only cycles that were asked for
	unrest     int  // cycles in a row that something moved under
	restless   bool // files are written all the time: they are read as they are
	portion    int  // how many contents are asked for at a time

	// When.
	notBefore time.Time // after a failure
	asRuled   time.Time // before then the server does not want to hear of us
	wakeAt    time.Time
	recheckAt time.Time
	pollAt    time.Time
	// recheckSoon is when something held for a while must be looked at again.
	recheckSoon time.Time

	cycle  *cycle // nil while idle
	busy   bool   // an effect is under way
	failed error  // of the last cycle
	report Report
	done   uint64 // cycles ended
	total  Tally  // of all cycles
}

type emptySince struct {
	at    time.Time
	scans int
}

// maxBackoff caps the wait after failures; the draw is uniform below it (full
// jitter).
const maxBackoff = 5 * time.Minute

// rouseSpread is the widest wait for the first cycle after a sleep.
const rouseSpread = 2 * time.Second

// NewCore returns a core that remembers memory and wants a first full cycle.
func NewCore(memory api.Memory, timing Timing, random *rand.Rand) *Core {
	if memory.Bases == nil {
		memory.Bases = make(map[api.Key]api.Base)
	}
	wait := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(time.Second),
		backoff.WithMultiplier(2),
		backoff.WithRandomizationFactor(0), // the jitter is drawn from our own source
		backoff.WithMaxInterval(maxBackoff),
		backoff.WithMaxElapsedTime(0), // never give up
	)
	return &Core{
		timing:  timing.withDefaults(),
		rand:    random,
		wait:    wait,
		memory:  memory,
		missing: make(map[api.Key]time.Time),
		empty:   make(map[api.Key]emptySince),
		refused: make(map[api.Key]verdict),
		judged:  make(map[api.Key]api.Checksum),
		washed:  make(map[api.Key]bool),
		portion: receiveKeys,
		dirty:   true,
		full:    true,
		report:  Report{Word: Pending, Position: api.Position{Epoch: memory.Epoch, Version: memory.Version}},
	}
}

// Step takes one event and returns the effect to carry out next, nil for none.
// The effect is under way until its answer is stepped; until then Step returns
// nil for every other event.
func (c *Core) Step(now time.Time, event Event) Effect {
	effect, answered := c.answer(now, event)
	if answered {
		c.busy = effect != nil
		if c.busy || c.cycle != nil {
			return effect
		}
	} else {
		c.hear(now, event)
	}
	switch {
	case c.busy:
		return nil
	case c.cycle == nil:
		effect = c.begin(now)
	case !now.Before(c.cycle.resumeAt):
		effect = c.lookAgain()
	}
	c.busy = effect != nil
	return effect
}

// hear notes what an event from outside asks for.
func (c *Core) hear(now time.Time, event Event) {
	switch e := event.(type) {
	case Hinted:
		c.dirty, c.full, c.restless = true, c.full || e.Full, c.restless || e.Busy
		if c.failed == nil || errors.Is(c.failed, api.ErrRootMissing) {
			// What moved under the last cycle has settled, or the root is back:
			// the wait for that is over.
			c.notBefore, c.unrest = time.Time{}, 0
		}
	case Noticed:
		if c.view == nil || e.At.Epoch != c.view.Epoch || e.At.Version != c.view.Version || c.failed != nil {
			// The server is there: do not sit out a wait that was for its absence.
			c.dirty, c.notBefore = true, c.asRuled
		}
	case Followed:
		c.following = e.Up
		if e.Up {
			c.notBefore = c.asRuled
		}
		// A core that failed looks again by itself, and the rarer the longer it fails.
		c.dirty = c.dirty || e.Refused && c.failed == nil
		c.pollAt = now.Add(c.pollInterval())
	case Roused:
		// Nothing that was true before needs to be: everything is read again, and
		// no wait is sat out that was for what the world was then. Machines that
		// wake together do not come at once.
		c.wait.Reset()
		c.dirty, c.full = true, true
		c.notBefore = later(c.asRuled, now.Add(time.Duration(c.rand.Float64()*float64(rouseSpread))))
	case Asked:
		mode := e.Mode
		c.asked, c.notBefore = &mode, time.Time{}
	case SetPaused:
		c.paused = e.Paused
		c.dirty = c.dirty || !e.Paused
		c.refreshWord()
	case Resolved:
		c.resolution, c.about = e.How, api.Position{}
		c.dirty, c.notBefore = true, time.Time{}
	}
}

// Wake returns when the core wants a [Ticked], the zero time for never.
func (c *Core) Wake() time.Time { return c.wakeAt }

// Idle reports whether no cycle is under way.
func (c *Core) Idle() bool { return c.cycle == nil }

// Wants reports whether a cycle would begin now if time allowed.
func (c *Core) Wants() bool { return c.dirty || c.asked != nil }

// Pends reports whether a question with this mode waits for its cycle.
func (c *Core) Pends(mode Mode) bool {
	return c.asked != nil && *c.asked == mode || c.cycle != nil && c.cycle.mode == mode
}

// Cycles returns how many cycles have ended.
func (c *Core) Cycles() uint64 { return c.done }

// begin starts a cycle when one is due.
func (c *Core) begin(now time.Time) Effect {
	if c.recheckAt.IsZero() {
		c.recheckAt, c.pollAt = now.Add(c.jitter(c.timing.Recheck)), now.Add(c.pollInterval())
	}
	if !now.Before(c.recheckAt) {
		c.dirty, c.full = true, true
		c.recheckAt = now.Add(c.jitter(c.timing.Recheck))
	}
	if !now.Before(c.pollAt) {
		c.dirty = true
		c.pollAt = now.Add(c.pollInterval())
	}
	if !c.recheckSoon.IsZero() && !now.Before(c.recheckSoon) {
		c.dirty, c.recheckSoon = true, time.Time{}
	}
	c.wakeAt = earliest(earliest(c.recheckAt, c.pollAt), c.recheckSoon)
	if (c.paused || c.onDemand) && c.asked == nil || !c.Wants() {
		return nil
	}
	if now.Before(c.notBefore) {
		c.wakeAt = earliest(c.wakeAt, c.notBefore)
		return nil
	}
	mode := Mode{}
	if c.asked != nil {
		mode = *c.asked
	}
	c.cycle = newCycle(mode, now)
	// A file under constant writes never rests for long: it is read as a manual
	// sync reads it, or it would never be sent.
	c.cycle.twice = mode.Manual || c.restless
	reading := api.Reading{Settle: c.timing.settle(), Twice: c.cycle.twice, Full: c.full}
	c.dirty, c.full, c.asked, c.notBefore = false, false, nil, time.Time{}
	if mode.Manual {
		clear(c.refused)
	}
	c.refreshWord()
	return Scan{reading}
}

// pollInterval is the time to the next look without a notice. A server that is
// followed needs looks only as a safeguard.
func (c *Core) pollInterval() time.Duration {
	if c.following {
		return c.jitter(c.timing.Recheck)
	}
	return c.jitter(c.timing.Poll)
}

// jitter spreads d by a quarter either way.
func (c *Core) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.75 + c.rand.Float64()/2))
}

// fullJitter draws a wait from the growing interval of the backoff.
func (c *Core) fullJitter() time.Duration {
	return time.Duration(c.rand.Float64() * float64(c.wait.NextBackOff()))
}

// retryLater schedules the next try after a failure. A server that says when to
// come back is obeyed, with a little spread; a cycle that moved something was no
// failure of the kind that waits grow with.
func (c *Core) retryLater(now time.Time, err error, moved bool) {
	if moved {
		c.wait.Reset()
	}
	wait := c.fullJitter()
	if refusal, ok := errors.AsType[*api.Error](err); ok && refusal.RetryAfter > 0 {
		wait = time.Duration(float64(refusal.RetryAfter) * (1 + c.rand.Float64()/4))
		c.asRuled = now.Add(wait)
	}
	if planted.In(planted.GivesUp) && c.wait.NextBackOff() == maxBackoff {
		wait = 1 << 62 // a century and a half
		c.asRuled = now.Add(wait)
	}
	c.dirty, c.notBefore = true, now.Add(wait)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
