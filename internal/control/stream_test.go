package control_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
)

// changing is a daemon whose state the test changes.
type changing struct {
	*daemon
	mu    sync.Mutex
	state string        // guarded by mu
	bell  chan struct{} // closed with the next change; guarded by mu
	fail  error         // guarded by mu
}

func (d *changing) Status(ctx context.Context) (control.Status, error) {
	if !control.Watching(ctx) {
		return control.Status{}, errors.New("asked as if for a person")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return control.Status{Schema: control.Schema, State: d.state}, d.fail
}

func (d *changing) changes() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bell
}

// become changes the state; told says whether whoever watches hears of it.
func (d *changing) become(state string, told bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state = state
	if told {
		close(d.bell)
		d.bell = make(chan struct{})
	}
}

// watched starts a server for d and a client that watches it.
func watched(t *testing.T, d *changing) (seen <-chan string, ended <-chan error, stopServer, stopClient func()) {
	t.Helper()
	lease, err := control.Lock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	s := control.NewServer(control.Options{Handler: d, Changes: d.changes})
	path := filepath.Join(t.TempDir(), "c.sock")
	if err := s.Listen(lease, path); err != nil {
		t.Fatal(err)
	}
	serving, stopServer := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Run(serving) }()
	watching, stopClient := context.WithCancel(context.Background())
	states, over := make(chan string, 10), make(chan error, 1)
	c := dial(t, path)
	go func() {
		over <- c.Watch(watching, func(s control.Status) error {
			if s.State == "enough" {
				return errEnough
			}
			states <- s.State
			return nil
		})
	}()
	t.Cleanup(func() {
		stopClient()
		stopServer()
		if err := errors.Join(<-served, lease.Release()); err != nil {
			t.Error(err)
		}
	})
	return states, over, stopServer, stopClient
}

var errEnough = errors.New("enough")

func wait[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(30 * time.Second):
		t.Fatalf("waited for %s", what)
		panic("unreachable")
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	d := &changing{daemon: newDaemon(), state: "in-sync", bell: make(chan struct{})}
	seen, ended, stopServer, _ := watched(t, d)
	if got := wait(t, "the state at once", seen); got != "in-sync" {
		t.Errorf("at first %q", got)
	}
	d.become("in-sync", true) // a change of nothing is not sent
	begun := time.Now()
	d.become("offline", true)
	if got := wait(t, "a change", seen); got != "offline" || time.Since(begun) > 20*time.Second {
		t.Errorf("after the change %q, after %s", got, time.Since(begun))
	}
	d.become("paused", false)
	if got := wait(t, "a change that nobody tells of", seen); got != "paused" {
		t.Errorf("after the silent change %q", got)
	}
	stopServer()
	if err := wait(t, "the end of the daemon", ended); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("ended with %v, want %v", err, control.ErrNotRunning)
	}
}

func TestWatchEndsWithItsClient(t *testing.T) {
	t.Parallel()
	d := &changing{daemon: newDaemon(), state: "in-sync", bell: make(chan struct{})}
	seen, ended, _, stopClient := watched(t, d)
	wait(t, "the state at once", seen)
	stopClient()
	if err := wait(t, "the end", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v, want %v", err, context.Canceled)
	}

	d = &changing{daemon: newDaemon(), state: "enough", bell: make(chan struct{})}
	_, ended, _, _ = watched(t, d)
	if err := wait(t, "the end", ended); !errors.Is(err, errEnough) {
		t.Errorf("ended with %v, want %v", err, errEnough)
	}

	d = &changing{daemon: newDaemon(), fail: api.ErrConfig, bell: make(chan struct{})}
	_, ended, _, _ = watched(t, d)
	if err := wait(t, "the end", ended); !errors.Is(err, api.ErrConfig) {
		t.Errorf("ended with %v, want %v", err, api.ErrConfig)
	}
}

// TestWatchOfAnEarlierDaemon tells one that cannot be watched from one that is
// not there.
func TestWatchOfAnEarlierDaemon(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	earlier := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.NotFoundHandler()}
	go func() { _ = earlier.Serve(listener) }()
	t.Cleanup(func() { _ = earlier.Close() })
	if err := dial(t, path).Watch(t.Context(), nil); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("ended with %v, want %v", err, api.ErrNotFound)
	}
}
