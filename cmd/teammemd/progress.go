package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	teamsync "github.com/teammem/teammemd/sync"
)

const (
	// progressAfter is how long work goes on before a line says so.
	progressAfter = time.Second
	// progressEvery is how often the line is drawn.
	progressEvery = 200 * time.Millisecond
)

// progressLine is one line on a terminal about work that takes long, gone when
// the work is done. Its methods are safe for concurrent use; on a nil line they
// do nothing.
type progressLine struct {
	out     io.Writer
	repo    api.Repo
	columns func() int
	begun   time.Time
	stop    context.CancelFunc
	ended   chan struct{}

	mu  sync.Mutex
	now control.Progress // guarded by mu
}

// progressOf starts the line for the work on a root, nil where standard error is
// no terminal or nobody wants talk. It ends with end.
func (a *app) progressOf(ctx context.Context, root config.Root) *progressLine {
	if a.quiet || !a.canRedraw(a.err) {
		return nil
	}
	p := &progressLine{
		out: a.err, repo: root.Repo, begun: time.Now(), ended: make(chan struct{}),
		columns: func() int { columns, _ := sizeOf(a.err); return columns },
	}
	ctx, p.stop = context.WithCancel(ctx)
	go p.run(ctx)
	return p
}

// run draws until ctx ends, and then takes the line away.
func (p *progressLine) run(ctx context.Context) {
	defer close(p.ended)
	timer := time.NewTimer(progressAfter)
	defer timer.Stop()
	for drawn := false; ; drawn = true {
		select {
		case <-ctx.Done():
			if drawn {
				_, _ = io.WriteString(p.out, returnErase)
			}
			return
		case <-timer.C:
			timer.Reset(progressEvery)
			_, _ = io.WriteString(p.out, "\r"+cut(p.text(time.Now()), p.columns()-1)+eraseLine)
		}
	}
}

// text is the line.
func (p *progressLine) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	far := "comparing"
	if p.now.Done > 0 {
		far = fmt.Sprintf("%d of %d", p.now.Done, p.now.Planned)
	}
	return fmt.Sprintf("syncing  %s  %s  (%d s)", p.repo, far, int(now.Sub(p.begun).Seconds()))
}

// set says how far the work is.
func (p *progressLine) set(now control.Progress) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
}

// follow takes the progress of a root from the daemon that works on it.
func (p *progressLine) follow(ctx context.Context, daemon *control.Client, root config.Root) {
	if p == nil {
		return
	}
	// An error ends the figures; the call that does the work has its own.
	go func() {
		_ = daemon.Watch(ctx, func(status control.Status) error {
			for _, one := range status.Roots {
				if one.Root == root.Dir {
					p.set(one.Progress)
				}
			}
			return nil
		})
	}()
}

// end takes the line away and returns when it is gone.
func (p *progressLine) end() {
	if p == nil {
		return
	}
	p.stop()
	<-p.ended
}

// progressFrom turns an engine's progress into what travels.
func progressFrom(p teamsync.Progress) control.Progress { return control.Progress(p) }
