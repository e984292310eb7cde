package bench

import (
	"context"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
)

// Options are what a measurement gets from its caller. Program and Client are
// required; the zero value of the rest is usable.
type Options struct {
	// Program is the path of the teammemd that is measured.
	Program string
	// TempDir is where the temporary directory is made, "" for the system's
	// place; it must exist.
	TempDir string
	// Debounce is how long the daemons wait for quiet; the peers have waits of
	// their own.
	Debounce time.Duration
	// Compare adds the peers that are installed.
	Compare bool
	// Client opens Program's own client for a host that has this environment.
	Client func(getenv func(string) string) (Client, error)
	// Progress gets a line, without a newline, when something begins or cannot
	// be measured; nil hears nothing. One goroutine calls it.
	Progress func(line string)
}

// Client is what a measurement asks in the caller's process, because a process
// for each question would be measured with it. One goroutine uses it.
type Client interface {
	// Status asks the daemon; [control.ErrNotRunning] when none runs.
	Status(ctx context.Context) (control.Status, error)
	// Server connects to the server of the one root that is registered.
	Server() (Pusher, error)
}

// Pusher writes to a server.
type Pusher interface {
	// Push returns when the server has answered.
	Push(ctx context.Context, batch api.Batch) (api.Pushed, error)
}
