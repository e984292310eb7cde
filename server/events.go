package server

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

const (
	// maxStreamRepos bounds the repos of one stream.
	maxStreamRepos = 1_000
	// retryHint is how long a client waits before it connects again.
	retryHint = 3 * time.Second
	// retrySpread spreads the clients of a server that stops.
	retrySpread = 4 * time.Second
)

// events answers with a stream of server-sent events: the current state of each
// repo that the caller may read, then every change, until the client leaves,
// access to one of them ends, or the server stops.
func (c *call) events() error {
	asked, err := c.streamRepos()
	if err != nil {
		return err
	}
	release, err := c.hold()
	if err != nil {
		return err
	}
	defer release()
	s := &stream{c: c, control: http.NewResponseController(c.w), limit: 2 * c.o.Heartbeat}
	// What changes from here on wakes the stream.
	s.changed, s.moved = c.auth.Changed(), c.o.Access.Changed()
	if s.places, err = c.readable(asked); err != nil {
		return err
	}
	if len(s.places) == 0 {
		return core.NotFound()
	}
	sub := c.core.Hub().Subscribe(s.repos()...)
	defer sub.Close()
	if err := s.begin(); err != nil {
		return err
	}
	return s.follow(sub)
}

// streamRepos returns the repos that were asked for, each once.
func (c *call) streamRepos() ([]api.Repo, error) {
	values, err := c.query()
	if err != nil {
		return nil, err
	}
	names := values["repo"]
	if len(names) == 0 {
		return nil, api.Errorf(api.ErrRepoInvalid, "the parameter repo is missing")
	}
	if len(names) > maxStreamRepos {
		return nil, api.Errorf(api.ErrBadRequest, "a stream follows at most %d repos", maxStreamRepos)
	}
	seen := map[api.Repo]bool{}
	var repos []api.Repo
	for _, name := range names {
		repo, err := parseRepo(name)
		if err != nil {
			return nil, err
		}
		if !seen[repo] {
			seen[repo] = true
			repos = append(repos, repo)
		}
	}
	return repos, nil
}

// readable returns where those of the repos are that the caller may read, in
// their order. A forge may have to be asked about each, so several are asked
// about at a time.
func (c *call) readable(repos []api.Repo) ([]place, error) {
	found := make([]place, len(repos))
	var group errgroup.Group
	group.SetLimit(askedAtOnce)
	for i, repo := range repos {
		group.Go(func() (err error) {
			found[i], err = c.decide(repo)
			if errors.Is(err, api.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(p place) bool { return p.role < api.Reader }), nil
}

// askedAtOnce bounds the permissions that one stream asks about at a time.
const askedAtOnce = 8

// stream writes one stream of events.
type stream struct {
	c       *call
	control *http.ResponseController
	limit   time.Duration // for one write
	buf     bytes.Buffer

	places  []place         // that the stream is about; changes only in due times
	changed <-chan struct{} // closed when tokens changed
	moved   <-chan struct{} // closed when permissions may have changed
}

// repos returns the names under which the data is kept, each once: a client may
// ask for a repo by two of its names.
func (s *stream) repos() []api.Repo {
	repos := make([]api.Repo, 0, len(s.places))
	seen := make(map[api.Repo]bool, len(s.places))
	for _, p := range s.places {
		if !seen[p.repo] {
			seen[p.repo] = true
			repos = append(repos, p.repo)
		}
	}
	return repos
}

func (s *stream) begin() error {
	// The body of the request is over: only the client's leaving is to be read.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("opening a stream: %w", err)
	}
	h := s.c.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("X-Content-Type-Options", "nosniff")
	s.c.begin(http.StatusOK)
	fmt.Fprintf(&s.buf, "retry: %d\n\n", retryHint.Milliseconds())
	return nil
}

// follow sends the state of all repos, then of those that move. When access to
// one of them ends the stream does: the client connects again, and learns from
// its next request about that repo what became of it.
func (s *stream) follow(sub *core.Subscription) error {
	c := s.c
	beat := time.NewTicker(c.o.Heartbeat)
	defer beat.Stop()
	end := timerAt(c.grant.ExpiresAt)
	defer end.Stop()
	ask := timerAt(s.until())
	defer func() { ask.Stop() }()
	moved, look := s.repos(), true
	s.seen()
	for {
		if look {
			if !s.still() {
				return s.finish("access ended")
			}
			ask.Stop()
			ask = timerAt(s.until())
		}
		if err := s.notices(moved); err != nil {
			return nil // the client connects again, and is told then
		}
		if s.flush() != nil {
			return nil
		}
		moved, look = nil, true
		select {
		case <-sub.Ready():
			moved, look = sub.Take(), false
		case <-beat.C:
			s.buf.WriteString(":\n\n")
			look = false
			s.seen()
		case <-s.changed:
			s.changed = c.auth.Changed()
		case <-s.moved:
			s.moved = c.o.Access.Changed()
		case <-ask.C:
		case <-end.C:
		case <-c.draining:
			return s.finish("restarting")
		case <-c.r.Context().Done():
			return nil
		}
	}
}

// seen says that the client is there. What an event tells it has not pulled yet.
func (s *stream) seen() {
	for _, p := range s.places {
		s.c.saw(p.repo, nil, false)
	}
}

// still reports whether the stream may go on as it is, and renews its places.
func (s *stream) still() bool {
	if s.c.recheck() != nil {
		return false
	}
	asked := make([]api.Repo, len(s.places))
	for i, p := range s.places {
		asked[i] = p.asked
	}
	now, err := s.c.readable(asked)
	if err != nil || !slices.EqualFunc(now, s.places, func(a, b place) bool { return a.asked == b.asked && a.repo == b.repo }) {
		return false
	}
	s.places = now
	return true
}

// until returns when the first permission has to be found out again, zero for
// never.
func (s *stream) until() (first time.Time) {
	for _, p := range s.places {
		if !p.until.IsZero() && (first.IsZero() || p.until.Before(first)) {
			first = p.until
		}
	}
	return first
}

// notices writes the state of repos, under the names that the client asked for.
func (s *stream) notices(repos []api.Repo) error {
	for _, repo := range repos {
		notice, err := s.c.core.Notice(s.c.r.Context(), repo)
		if err != nil {
			return err
		}
		for _, p := range s.places {
			if p.repo != repo {
				continue
			}
			notice.Repo = p.asked
			data, err := core.Marshal(notice)
			if err != nil {
				return err
			}
			fmt.Fprintf(&s.buf, "id: %d\ndata: %s\n\n", notice.Version, bytes.TrimSpace(data))
		}
	}
	return nil
}

// finish tells the client to connect again after a while, each at its own time,
// and closes.
func (s *stream) finish(why string) error {
	wait := retryHint + rand.N(retrySpread)
	fmt.Fprintf(&s.buf, "retry: %d\n: %s\n\n", wait.Milliseconds(), why)
	_ = s.flush() // the stream ends either way
	return nil
}

func (s *stream) flush() error {
	if s.buf.Len() == 0 {
		return nil
	}
	if err := s.control.SetWriteDeadline(time.Now().Add(s.limit)); err != nil {
		return err
	}
	if _, err := s.c.write(s.buf.Bytes()); err != nil {
		return err
	}
	s.buf.Reset()
	return s.control.Flush()
}
