package watcher

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// root is one watched directory. Its goroutine owns the fields above the
// mutex.
type root struct {
	w   *Watcher
	id  string
	dir string // as given, absolute

	real     string          // dir with links resolved, "" while missing
	identity fs.FileInfo     // of what is watched, nil while missing
	dirs     map[string]bool // watched, part of the tree
	above    string          // watched while missing
	aboveID  fs.FileInfo     // of what is watched there
	files    int             // in the tree when it was watched, and those that came since
	poll     bool            // look at the tree every Poll
	sum      uint64          // signature at the last look
	armed    bool            // has been watched once

	nextIdentity, nextPoll, nextRescan time.Time
	nextRetry                          time.Time // zero: no limit was met
	retry                              time.Duration

	wake chan struct{} // one slot

	mu      sync.Mutex // guards what follows
	mode    Mode
	why     obstacle
	inbox   inbox
	awaited string // while missing: the next name on the way to the root
}

// inbox is what events ask of a root.
type inbox struct {
	names map[string]bool // entries that came or went
	rearm bool            // watch everything anew
	check bool            // the root's own path may be another now
}

// maxNames bounds what is looked at one by one; beyond it everything is.
const maxNames = 10_000

func newRoot(w *Watcher, id, dir string) *root {
	return &root{w: w, id: id, dir: dir, dirs: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (r *root) state() (Mode, obstacle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mode, r.why
}

func (r *root) setState(mode Mode, why obstacle) {
	r.mu.Lock()
	changed := r.mode != mode
	r.mode, r.why = mode, why
	r.mu.Unlock()
	switch log := r.w.opts.Logger.With("root", r.id, "mode", string(mode)); {
	case !changed:
	case why.remedy != "":
		log.Warn("watch mode changed", "reason", why.reason, "remedy", why.remedy)
	default:
		log.Info("watch mode changed", "reason", why.reason)
	}
}

// touch passes a hint on, unless the root was let go meanwhile.
func (r *root) touch(full bool) {
	if r.w.current(r) {
		r.w.stage.touch(r.id, full)
	}
}

// deliver takes one event; it does not block and looks at no file.
func (r *root) deliver(event fsnotify.Event, how use) {
	name := filepath.Base(event.Name)
	if how.why == ancestor {
		r.mu.Lock()
		// What happens to the ancestor itself may end its watch.
		r.inbox.rearm = r.inbox.rearm || how.self
		r.inbox.check = r.inbox.check || strings.EqualFold(name, r.awaited)
		r.mu.Unlock()
		signal(r.wake)
		return
	}
	if !how.self && noise(name) {
		return
	}
	if event.Op&(fsnotify.Create|fsnotify.Remove|fsnotify.Rename) != 0 {
		r.mu.Lock()
		r.inbox.add(event.Name)
		r.mu.Unlock()
		signal(r.wake)
	}
	r.touch(false)
}

func (b *inbox) add(name string) {
	if len(b.names) >= maxNames {
		b.rearm = true
		return
	}
	if b.names == nil {
		b.names = map[string]bool{}
	}
	b.names[name] = true
}

func (r *root) rearmSoon() {
	r.mu.Lock()
	r.inbox.rearm = true
	r.mu.Unlock()
	signal(r.wake)
}

func (r *root) takeInbox() inbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.inbox
	r.inbox = inbox{}
	return taken
}

// run watches until ctx ends.
func (r *root) run(ctx context.Context) {
	defer r.disarm()
	now := time.Now()
	r.nextRescan = now.Add(jitter(r.w.opts.Rescan))
	r.rearm()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(r.next()))
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
			r.handle(r.takeInbox())
		case <-timer.C:
			r.tick(time.Now())
		}
	}
}

// next is the earliest thing to do.
func (r *root) next() time.Time {
	at := r.nextRescan
	for _, t := range []time.Time{r.nextIdentity, r.nextPoll, r.nextRetry} {
		if !t.IsZero() && t.Before(at) {
			at = t
		}
	}
	return at
}

func jitter(d time.Duration) time.Duration {
	return d*3/4 + rand.N(d/2+1)
}

// tick does what is due.
func (r *root) tick(now time.Time) {
	opts := r.w.opts
	if !now.Before(r.nextRescan) {
		r.nextRescan = now.Add(jitter(opts.Rescan))
		if r.nextRetry.IsZero() {
			r.rearm() // watches that were lost without a word come back
			return
		}
		// A limit of the system was met: it is tried again in its own time.
		r.touch(true)
	}
	if !r.nextRetry.IsZero() && !now.Before(r.nextRetry) {
		r.rearm()
		return
	}
	if !r.nextIdentity.IsZero() && !now.Before(r.nextIdentity) {
		r.nextIdentity = now.Add(opts.Identity)
		r.verify()
	}
	if !r.nextPoll.IsZero() && !now.Before(r.nextPoll) {
		r.nextPoll = now.Add(opts.Poll)
		r.look()
	}
}

// handle acts on events.
func (r *root) handle(in inbox) {
	switch {
	case in.rearm || r.real != "" && in.names[r.real]:
		r.rearm()
		return
	case in.check:
		r.verify()
	}
	var arrived []string
	for name := range in.names {
		// What went comes first: a renamed directory keeps its watch under its
		// old name until that is ended.
		switch st, err := os.Lstat(name); {
		case err != nil:
		case st.IsDir():
			arrived = append(arrived, name)
		default:
			r.files++
		}
		r.dropTree(name)
	}
	if most := r.w.opts.MaxFiles; most > 0 && !r.poll && r.files > most {
		r.rearm() // they are counted anew: others may have gone
		return
	}
	for _, name := range arrived {
		if !r.within(name) || noise(filepath.Base(name)) {
			continue
		}
		files, err := r.armTree(name)
		if err != nil && !passing(err) {
			r.rearm()
			return
		}
		r.files += files
		// What was put into it before it was watched is seen by the scan that
		// this asks for.
		r.touch(false)
	}
}

func (r *root) within(path string) bool {
	return r.real != "" && strings.HasPrefix(path, r.real+string(filepath.Separator))
}

// verify compares the path with what is watched.
func (r *root) verify() {
	st, err := os.Stat(r.dir)
	here := err == nil && st.IsDir()
	switch {
	case here && r.identity != nil && os.SameFile(st, r.identity):
		return
	case !here && r.identity == nil && r.above != "":
		above, _ := nearest(r.dir)
		st, err := os.Stat(above)
		if above == r.above && err == nil && os.SameFile(st, r.aboveID) {
			return
		}
	}
	r.rearm()
}

// look is one poll.
func (r *root) look() {
	if r.identity == nil {
		r.verify()
		return
	}
	sum, err := signature(r.real)
	if err != nil {
		r.rearm()
		return
	}
	if sum != r.sum {
		r.sum = sum
		r.touch(false)
	}
}
