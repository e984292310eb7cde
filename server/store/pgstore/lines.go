package pgstore

import (
	"context"
	"sync"

	"github.com/teammem/teammemd/api"
)

// lines lets the updates that this process makes of one repo go one after
// another, so that they do not meet at its row. Updates by other processes are
// met there: see [Store.Update].
type lines struct {
	mu  sync.Mutex
	all map[api.Repo]*line // guarded by mu
}

// line is the updates of one repo.
type line struct {
	turn  chan struct{} // holds one value while an update is under way
	waits int           // of those who have or want the turn; guarded by lines.mu
}

// take waits for the turn in a repo. The error is ctx's, or errClosed.
func (l *lines) take(ctx context.Context, repo api.Repo, closing <-chan struct{}) (release func(), err error) {
	l.mu.Lock()
	if l.all == nil {
		l.all = make(map[api.Repo]*line)
	}
	own := l.all[repo]
	if own == nil {
		own = &line{turn: make(chan struct{}, 1)}
		l.all[repo] = own
	}
	own.waits++
	l.mu.Unlock()

	select {
	case own.turn <- struct{}{}:
		return func() { <-own.turn; l.leave(repo, own) }, nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-closing:
		err = errClosed
	}
	l.leave(repo, own)
	return nil, err
}

func (l *lines) leave(repo api.Repo, own *line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.waits--; own.waits == 0 {
		delete(l.all, repo)
	}
}
