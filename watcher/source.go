package watcher

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Source delivers events of single directories, not of what lies below them.
// Its methods are safe for concurrent use.
type Source interface {
	Add(dir string) error
	Remove(dir string) error
	Close() error
	// Streams returns the events and the errors; both are closed by Close. A lost
	// event is an error.
	Streams() (<-chan fsnotify.Event, <-chan error)
}

type notifier struct{ *fsnotify.Watcher }

func newNotifier() (Source, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return notifier{w}, nil
}

func (n notifier) Streams() (<-chan fsnotify.Event, <-chan error) { return n.Events, n.Errors }

// kind is why a root watches a directory.
type kind int

const (
	partOfTree kind = iota + 1
	ancestor        // the root is missing below it
)

// use is how an event concerns a root.
type use struct {
	why  kind
	self bool // the event is about the watched directory itself
}

// registry shares one source among all roots. It opens the source when the
// first directory is to be watched, so that a limit on sources is met, and
// tried again, like a limit on directories.
type registry struct {
	open func() (Source, error)
	sink func(map[*root]use, fsnotify.Event)
	lost func(error) // events were lost, or the source has ended

	// ops orders the calls that change what is watched. Routing does not take
	// it: on some systems such a call waits for an event to be read.
	ops    sync.Mutex
	source Source // guarded by ops
	wg     sync.WaitGroup

	mu    sync.Mutex // guards users
	users map[string]map[*root]kind
}

func newRegistry(open func() (Source, error)) *registry {
	return &registry{open: open, users: map[string]map[*root]kind{}}
}

// watch adds a user to a directory. Watching again renews the watch: the
// directory may be another one of that name.
func (g *registry) watch(r *root, dir string, why kind) error {
	g.ops.Lock()
	defer g.ops.Unlock()
	if g.source == nil {
		source, err := g.open()
		if err != nil {
			return err
		}
		g.source = source
		g.wg.Go(func() { g.route(source) })
	}
	g.mu.Lock()
	if g.users[dir] == nil {
		g.users[dir] = map[*root]kind{}
	}
	g.users[dir][r] = why
	g.mu.Unlock()
	if err := g.source.Add(dir); err != nil {
		if g.removeUser(r, dir) {
			// Where each file is watched, those before the one that failed still
			// are.
			_ = g.source.Remove(dir)
		}
		return err
	}
	return nil
}

// unwatch removes a user; the last one ends the watch.
func (g *registry) unwatch(r *root, dir string) {
	g.ops.Lock()
	defer g.ops.Unlock()
	if g.removeUser(r, dir) && g.source != nil {
		// The directory may be gone, and its watch with it.
		_ = g.source.Remove(dir)
	}
}

// removeUser reports whether nobody is left.
func (g *registry) removeUser(r *root, dir string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.users[dir], r)
	if len(g.users[dir]) > 0 {
		return false
	}
	delete(g.users, dir)
	return true
}

// route hands events to the roots that watch their directory, until the source
// ends.
func (g *registry) route(source Source) {
	events, errs := source.Streams()
	for events != nil || errs != nil {
		select {
		case event, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if to := g.usersOf(event.Name); len(to) > 0 {
				g.sink(to, event)
			}
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			if err != nil {
				g.lost(err)
			}
		}
	}
}

// usersOf returns who watches path or its directory.
func (g *registry) usersOf(path string) map[*root]use {
	g.mu.Lock()
	defer g.mu.Unlock()
	to := map[*root]use{}
	for r, why := range g.users[filepath.Dir(path)] {
		to[r] = use{why: why}
	}
	for r, why := range g.users[path] {
		to[r] = use{why: why, self: true}
	}
	return to
}

// close ends the source and everything that was started.
func (g *registry) close() error {
	g.ops.Lock()
	source := g.source
	g.source = nil
	g.open = func() (Source, error) { return nil, errClosed }
	g.ops.Unlock()
	var err error
	if source != nil {
		err = source.Close()
	}
	g.wg.Wait()
	return err
}

var errClosed = errors.New("the watcher has ended")
