package sync

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

// Options configure an [Engine]. Tree, Disk, Remote, State and Guard are
// required.
type Options struct {
	Tree   Tree
	Disk   Disk // of the same directory as Tree
	Remote Remote
	State  State
	Guard  Guard
	Texts  Texts // nil: no texts are kept, nothing is merged
	Timing Timing
	// Merge joins two edits of one text where they do not overlap, instead of
	// letting the server win.
	Merge bool
	// OnDemand engines run only the cycles that [Engine.Sync] asks for and do
	// not follow the server.
	OnDemand bool
	// Flush bounds the last push when Run is told to stop. Default 5 s.
	Flush time.Duration
	// Unsettled reports whether the directory changed and has not settled yet;
	// nil for never. It is asked once, when Run is told to stop.
	Unsettled func() bool
	// Tend is called in Run's goroutine between two cycles, at its start and then
	// about once an hour: nothing else uses State meanwhile. Nil for nothing.
	Tend func(ctx context.Context)
	// Changed is called after every step, when Report may tell something new; nil
	// for nobody. It must not block.
	Changed func()
	// Seed makes jitter repeatable; 0 draws one.
	Seed   uint64
	Logger *slog.Logger // nil for none
}

// Engine keeps one root in step with one repo. Its methods may be called from
// any goroutine; [Engine.Run] must be running for Sync to return.
type Engine struct {
	opts Options
	log  *slog.Logger

	wake   chan struct{} // capacity 1: the inbox has something
	roused chan struct{} // capacity 1: follow must not sit out a wait

	mu      sync.Mutex
	inbox   []Event   // guarded by mu
	report  Report    // guarded by mu: the core's last word
	waiters []*waiter // guarded by mu
	// beats are closed when a step of the core is over; guarded by mu.
	beats []chan struct{}
	// glances wait for a reading of the directory; guarded by mu.
	glances []chan Report
	ended   chan struct{} // closed when Run has ended
}

type waiter struct {
	mode   Mode
	posted bool
	after  uint64 // satisfied by a cycle with a higher number
	done   chan Report
}

// New returns an engine that does nothing until Run.
func New(opts Options) *Engine {
	if opts.Flush <= 0 {
		opts.Flush = 5 * time.Second
	}
	if opts.Seed == 0 {
		opts.Seed = rand.Uint64()
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Engine{opts: opts, log: log, wake: make(chan struct{}, 1), ended: make(chan struct{}), roused: make(chan struct{}, 1), report: Report{Word: Pending}}
}

// Hint says that the directory changed, and has settled or, with busy, will not
// do so soon; full asks for a reading that trusts nothing remembered. It never
// blocks.
func (e *Engine) Hint(full, busy bool) { e.post(Hinted{full, busy}) }

// Rouse says that this process did not run for a while, because the machine slept
// or it was stopped: the directory is read again, the server asked, and followed
// anew, within seconds. Connections that died meanwhile are the Remote's matter.
func (e *Engine) Rouse() {
	e.post(Roused{})
	select {
	case e.roused <- struct{}{}:
	default:
	}
}

// Pause stops cycles of its own accord, or lets them go on. Sync still works.
func (e *Engine) Pause(paused bool) { e.post(SetPaused{paused}) }

// Resolve says how to go on after the server was restored or replaced.
func (e *Engine) Resolve(how Resolution) { e.post(Resolved{how}) }

// Report returns the state as of the last step.
func (e *Engine) Report() Report {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.report
}

// Beat makes the engine tick and waits until a step of its core is over: an
// engine that waits beats at once, one at work when what is under way has ended,
// one that hangs never. The error is ctx's; nil when Run has ended.
func (e *Engine) Beat(ctx context.Context) error {
	over := make(chan struct{})
	e.mu.Lock()
	e.beats = append(e.beats, over)
	e.mu.Unlock()
	e.post(nil)
	select {
	case <-over:
		return nil
	case <-e.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) post(event Event) {
	e.mu.Lock()
	e.inbox = append(e.inbox, event)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// syncTries bounds how many cycles one Sync makes of a root that keeps moving.
const syncTries = 6

// Sync runs a whole cycle now and returns its report; while something moves
// during the cycle, it runs another, up to a handful, and adds up what they
// moved. The error is ctx's; what went wrong in the cycle is in the report.
func (e *Engine) Sync(ctx context.Context, mode Mode) (Report, error) {
	mode.Manual = true
	total, err := e.ask(ctx, mode)
	for try := 1; err == nil && try < syncTries && total.Again && total.Err == nil && !mode.DryRun; try++ {
		if err = pause(ctx, e.opts.Timing.withDefaults().settle()/4); err != nil {
			break
		}
		var next Report
		if next, err = e.ask(ctx, mode); err == nil {
			total = addUp(total, next)
		}
	}
	return total, err
}

// ask waits for one cycle.
func (e *Engine) ask(ctx context.Context, mode Mode) (Report, error) {
	w := &waiter{mode: mode, done: make(chan Report, 1)}
	e.mu.Lock()
	e.waiters = append(e.waiters, w)
	e.mu.Unlock()
	e.post(nil)
	select {
	case <-ctx.Done():
		return Report{}, context.Cause(ctx)
	case r := <-w.done:
		return r, nil
	}
}

// addUp returns the later report with the movements of both.
func addUp(before, r Report) Report {
	r.Sent += before.Sent
	r.Received += before.Received
	r.Restored += before.Restored
	r.Took += before.Took
	r.Conflicts = append(before.Conflicts, r.Conflicts...)
	r.Unchanged = max(0, r.Unchanged-before.Sent-before.Received-before.Restored)
	return r
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Run loads the state and keeps the root in step until ctx ends; then it pushes
// what is still here, within the flush time, and returns nil. An error says
// that the state cannot be read. Run is called once.
func (e *Engine) Run(ctx context.Context) error {
	defer close(e.ended)
	memory, err := e.opts.State.Load(ctx)
	if err != nil {
		return err
	}
	core := NewCore(memory, e.opts.Timing, rand.New(rand.NewPCG(e.opts.Seed, 1)))
	core.onDemand = e.opts.OnDemand
	core.SetMerging(e.opts.Merge)

	var following sync.WaitGroup
	defer following.Wait()
	if !e.opts.OnDemand {
		following.Go(func() { e.follow(ctx) })
	}
	// An effect under way when ctx ends is finished, not torn: a batch that the
	// server has accepted should be remembered as sent.
	work, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	grace := context.AfterFunc(ctx, func() { time.AfterFunc(e.opts.Flush, abandon) })
	defer grace()

	var tended time.Time
	for {
		if e.opts.Tend != nil && core.Idle() && time.Since(tended) >= time.Hour {
			tended = time.Now()
			e.opts.Tend(work)
		}
		for _, event := range e.take(core) {
			e.drive(work, core, event)
		}
		e.glance(work, core)
		if err := e.sleep(ctx, core); err != nil {
			break
		}
	}
	e.flush(work, core)
	return nil
}

// take empties the inbox. Waiters whose question was not put yet put it now.
func (e *Engine) take(core *Core) []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	events := make([]Event, 0, len(e.inbox)+1)
	for _, event := range e.inbox {
		if event != nil {
			events = append(events, event)
		}
	}
	e.inbox = nil
	for _, w := range e.waiters {
		if !w.posted {
			w.posted, w.after = true, core.Cycles()
			events = append(events, Asked{w.mode})
		}
	}
	if len(events) == 0 {
		events = append(events, Ticked{})
	}
	return events
}

// drive steps the core with event and with the answers to the effects that
// follow from it, until the core has nothing to do.
func (e *Engine) drive(ctx context.Context, core *Core, event Event) {
	for effect := core.Step(time.Now(), event); ; {
		e.publish(core)
		if e.opts.Changed != nil {
			e.opts.Changed()
		}
		if effect == nil {
			return
		}
		effect = core.Step(time.Now(), e.perform(ctx, effect))
	}
}

// publish makes the core's word visible and answers whoever waits for it.
func (e *Engine) publish(core *Core) {
	report := core.Report()
	e.mu.Lock()
	defer e.mu.Unlock()
	if report.Word != e.report.Word {
		e.logWord(report)
	}
	if n := report.Total.Restored - e.report.Total.Restored; n > 0 {
		e.log.Info("files deleted here were restored", "files", n)
	}
	e.report = report
	for _, over := range e.beats {
		close(over)
	}
	e.beats = nil
	keep := e.waiters[:0]
	for _, w := range e.waiters {
		if w.posted && core.Cycles() > w.after && !core.Pends(w.mode) {
			w.done <- report
			continue
		}
		keep = append(keep, w)
	}
	e.waiters = keep
}

// logWord writes one line per change of state.
func (e *Engine) logWord(r Report) {
	if r.Word == Syncing || r.Word == InSync && e.report.Word == Syncing {
		return
	}
	if r.Err != nil {
		e.log.Warn("state changed", "state", string(r.Word), "error", r.Err.Error())
		return
	}
	e.log.Info("state changed", "state", string(r.Word))
}

// sleep waits for an event or the core's own time.
func (e *Engine) sleep(ctx context.Context, core *Core) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var due <-chan time.Time
	if at := core.Wake(); !at.IsZero() {
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-e.wake:
	case <-due:
	}
	return nil
}

// flush pushes once more before the engine stops, so that an edit made a moment
// ago does not wait for the next start.
func (e *Engine) flush(ctx context.Context, core *Core) {
	changed := core.Wants() || e.opts.Unsettled != nil && e.opts.Unsettled()
	if e.opts.OnDemand || core.paused || core.failed != nil || !changed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, e.opts.Flush)
	defer cancel()
	e.drive(ctx, core, Asked{Mode{NoPull: true, Manual: true}})
}
