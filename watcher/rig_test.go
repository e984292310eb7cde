package watcher_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"

	"github.com/teammem/teammemd/watcher"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const patience = 20 * time.Second

// rig is a running watcher over a real directory.
type rig struct {
	t   *testing.T
	w   *watcher.Watcher
	dir string
}

// quick are options for tests: a short debounce, and nothing periodic unless
// the test asks for it.
func quick() watcher.Options {
	return watcher.Options{Quiet: 10 * time.Millisecond, Max: 100 * time.Millisecond, Poll: time.Hour, Rescan: time.Hour, Identity: time.Hour}
}

// newRig watches a directory that exists.
func newRig(t *testing.T, opts watcher.Options) *rig {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := startRig(t, opts, filepath.Join(dir, "base", "team"), true)
	r.mode("root", watcher.Events)
	return r
}

// startRig watches dir and takes the first hint.
func startRig(t *testing.T, opts watcher.Options, dir string, create bool) *rig {
	t.Helper()
	r := &rig{t: t, w: watcher.New(opts), dir: dir}
	if create {
		r.mkdir("")
	}
	r.w.Add("root", dir)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the watcher ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("the watcher does not end")
		}
	})
	r.hint("the first")
	return r
}

func (r *rig) path(rel string) string { return filepath.Join(r.dir, filepath.FromSlash(rel)) }

func (r *rig) mkdir(rel string) {
	r.t.Helper()
	if err := os.MkdirAll(r.path(rel), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// append makes one change with one system call, and so one event.
func (r *rig) append(rel string) {
	r.t.Helper()
	f, err := os.OpenFile(r.path(rel), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("more\n"); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) write(rel string) {
	r.t.Helper()
	if err := os.WriteFile(r.path(rel), []byte("text\n"), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// hint waits for a settled hint.
func (r *rig) hint(why string) watcher.Hint {
	r.t.Helper()
	select {
	case h := <-r.w.Settled():
		if h.ID == "" {
			r.t.Fatalf("%s: the watcher has ended", why)
		}
		return h
	case <-time.After(patience):
		mode := r.w.Mode("root")
		r.t.Fatalf("%s: no hint comes (mode %s, %s)", why, mode, r.w.Reason("root"))
		return watcher.Hint{}
	}
}

// fullHint waits for a hint that is full.
func (r *rig) fullHint(why string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if r.hint(why).Full {
			return
		}
	}
	r.t.Fatalf("%s: no full hint comes", why)
}

// calm takes hints until none has come for a while.
func (r *rig) calm() {
	r.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case <-r.w.Settled():
		case <-deadline:
			r.t.Fatal("hints do not stop")
		case <-time.After(40 * time.Millisecond):
			if !r.w.Pending("root") {
				return
			}
		}
	}
}

// silent expects no hint.
func (r *rig) silent(why string) {
	r.t.Helper()
	select {
	case h := <-r.w.Settled():
		r.t.Errorf("%s: a hint %+v", why, h)
	case <-time.After(100 * time.Millisecond):
	}
}

// mode waits until a root is watched in one way.
func (r *rig) mode(id string, want watcher.Mode) {
	r.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for r.w.Mode(id) != want {
		select {
		case <-tick.C:
		case <-r.w.Settled():
		case <-deadline:
			r.t.Fatalf("the mode is %s (%s), want %s", r.w.Mode(id), r.w.Reason(id), want)
		}
	}
}

// proven changes one file and expects a hint for it.
func (r *rig) proven(why, rel string) {
	r.t.Helper()
	r.calm()
	r.append(rel)
	r.hint(why)
}

// tap is a real source whose events can be held back, whose limits can be set,
// and which can be made to report errors.
type tap struct {
	inner  *fsnotify.Watcher
	events chan fsnotify.Event
	errs   chan error
	done   chan struct{}

	mu    sync.Mutex
	mute  bool          // drop events
	held  chan struct{} // read nothing until it is closed
	limit int           // directories; negative for none
	fault error
	dirs  map[string]bool
	each  func(fsnotify.Event) error // called before each event; nil for nothing
}

func newTap() *tap { return &tap{limit: -1, dirs: map[string]bool{}} }

// open is for [watcher.Options].
func (p *tap) open() (watcher.Source, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit == 0 {
		return nil, p.fault
	}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	p.inner, p.events, p.errs, p.done = inner, make(chan fsnotify.Event), make(chan error), make(chan struct{})
	go p.pump()
	return p, nil
}

// pump forwards events and errors until the inner source is closed.
func (p *tap) pump() {
	defer close(p.events)
	defer close(p.errs)
	events, errs := p.inner.Events, p.inner.Errors
	for events != nil || errs != nil {
		p.mu.Lock()
		held := p.held
		p.mu.Unlock()
		if held != nil {
			select {
			case <-held:
			case <-p.done:
			}
		}
		select {
		case event, ok := <-events:
			if !ok {
				events = nil
			} else {
				p.event(event)
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
			} else {
				p.fail(err)
			}
		}
	}
}

func (p *tap) event(event fsnotify.Event) {
	p.mu.Lock()
	mute := p.mute
	p.mu.Unlock()
	if mute {
		return
	}
	if p.each != nil {
		if err := p.each(event); err != nil {
			p.fail(err)
		}
	}
	select {
	case p.events <- event:
	case <-p.done:
	}
}

func (p *tap) fail(err error) {
	select {
	case p.errs <- err:
	case <-p.done:
	}
}

func (p *tap) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *tap) Add(dir string) error {
	p.mu.Lock()
	full := p.limit >= 0 && len(p.dirs) >= p.limit && !p.dirs[dir]
	if !full {
		p.dirs[dir] = true
	}
	p.mu.Unlock()
	if full {
		return p.fault
	}
	return p.inner.Add(dir)
}

func (p *tap) Remove(dir string) error {
	p.set(func() { delete(p.dirs, dir) })
	return p.inner.Remove(dir)
}

func (p *tap) Close() error {
	close(p.done)
	return p.inner.Close()
}

func (p *tap) Streams() (<-chan fsnotify.Event, <-chan error) { return p.events, p.errs }
