package watcher

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/teammem/teammemd/internal/planted"
)

// Options tune a [Watcher]; the zero value of each is what its comment says.
type Options struct {
	// Logger gets one line for each change of a root's mode; nil means none.
	Logger *slog.Logger
	// Quiet and Max are the debounce: 2 s and 10 s.
	Quiet, Max time.Duration
	// Poll is how often a root without events is looked at: 15 s.
	Poll time.Duration
	// Rescan is how often every root gets a full hint, give or take a quarter:
	// 5 min.
	Rescan time.Duration
	// Identity is how often the root's path is compared with the directory that
	// is watched: 30 s.
	Identity time.Duration
	// RetryMin and RetryMax bound the wait before events are tried again after a
	// limit of the system was met: 1 min and 1 h.
	RetryMin, RetryMax time.Duration
	// MaxFiles is the number of files above which a root is polled. Zero means no
	// bound, except 2,000 where every watched file costs a descriptor.
	MaxFiles int
	// PollOnly uses no events at all.
	PollOnly bool
	// Open makes the source of events; nil means fsnotify.
	Open func() (Source, error)
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, value time.Duration) {
		if *d <= 0 {
			*d = value
		}
	}
	def(&o.Quiet, 2*time.Second)
	def(&o.Max, 10*time.Second)
	def(&o.Poll, 15*time.Second)
	def(&o.Rescan, 5*time.Minute)
	def(&o.Identity, 30*time.Second)
	def(&o.RetryMin, time.Minute)
	def(&o.RetryMax, time.Hour)
	if o.MaxFiles == 0 {
		o.MaxFiles = filesPerWatch
	}
	if o.Open == nil {
		o.Open = newNotifier
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Watcher watches any number of roots with one source of events. All methods
// are safe for concurrent use, before, during and after Run.
type Watcher struct {
	opts     Options
	registry *registry
	stage    *stage
	changed  chan struct{} // one slot: the set of roots is another

	mu    sync.Mutex // guards what follows
	roots map[string]*root
}

// New makes a watcher; nothing is watched before Run.
func New(opts Options) *Watcher {
	w := &Watcher{opts: opts.withDefaults(), changed: make(chan struct{}, 1), roots: map[string]*root{}}
	w.stage = newStage(w.opts.Quiet, w.opts.Max)
	w.registry = newRegistry(w.opts.Open)
	w.registry.sink = func(to map[*root]use, event fsnotify.Event) {
		for r, how := range to {
			r.deliver(event, how)
		}
	}
	w.registry.lost = w.lost
	return w
}

// Hints returns hints as changes happen. Those that nobody takes are merged into
// one for each root. The channel is closed when Run ends.
func (w *Watcher) Hints() <-chan Hint { return w.stage.raw }

// Settled returns the same hints after the debounce. The channel is closed when
// Run ends.
func (w *Watcher) Settled() <-chan Hint { return w.stage.settled }

// Pending reports whether a root was touched and its settled hint was not taken
// yet: something may have to be flushed. It answers after Run too.
func (w *Watcher) Pending(id string) bool { return w.stage.pending(id) }

// Add watches the directory dir, which need not exist, as the root id. An
// earlier directory of that id is let go.
func (w *Watcher) Add(id, dir string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		abs = filepath.Clean(dir)
	}
	w.mu.Lock()
	w.roots[id] = newRoot(w, id, abs)
	w.mu.Unlock()
	signal(w.changed)
}

// Remove lets a root go; its hints that nobody took are dropped.
func (w *Watcher) Remove(id string) {
	w.mu.Lock()
	delete(w.roots, id)
	w.mu.Unlock()
	w.stage.forget(id)
	signal(w.changed)
}

// Mode returns how a root is watched, "" for an unknown one and for one that
// Run has not reached yet.
func (w *Watcher) Mode(id string) Mode {
	mode, _ := w.state(id)
	return mode
}

// Reason returns one clause on why a root is not watched by events, "" when it
// is.
func (w *Watcher) Reason(id string) string {
	_, why := w.state(id)
	return why.reason
}

// Remedy returns the command that would lift the limit of the system for which
// a root is polled, "" where there is none.
func (w *Watcher) Remedy(id string) string {
	_, why := w.state(id)
	return why.remedy
}

func (w *Watcher) state(id string) (Mode, obstacle) {
	w.mu.Lock()
	r := w.roots[id]
	w.mu.Unlock()
	if r == nil {
		return "", obstacle{}
	}
	return r.state()
}

// Run watches until ctx ends, then lets everything go and returns nil. It is
// called once.
func (w *Watcher) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { w.stage.run(ctx) })
	running := map[*root]context.CancelFunc{}
	for ctx.Err() == nil {
		wanted := w.wanted()
		for r, cancel := range running {
			if !wanted[r] {
				cancel()
				delete(running, r)
			}
		}
		for r := range wanted {
			if running[r] == nil {
				rootCtx, cancel := context.WithCancel(ctx)
				running[r] = cancel
				wg.Go(func() { r.run(rootCtx) })
			}
		}
		select {
		case <-ctx.Done():
		case <-w.changed:
		}
	}
	for _, cancel := range running {
		cancel()
	}
	wg.Wait()
	return w.registry.close()
}

func (w *Watcher) wanted() map[*root]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make(map[*root]bool, len(w.roots))
	for _, r := range w.roots {
		out[r] = true
	}
	return out
}

// current reports whether r is still the root of its id.
func (w *Watcher) current(r *root) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roots[r.id] == r
}

// lost makes every root be read whole and watched anew: which events are gone
// is not known.
func (w *Watcher) lost(err error) {
	w.opts.Logger.Warn("file events lost", "error", err)
	if planted.In(planted.OverflowIgnored) {
		return
	}
	for r := range w.wanted() {
		r.rearmSoon()
	}
}
