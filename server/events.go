package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

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
// the token loses its access, or the server stops.
func (c *call) events() error {
	repos, err := c.streamRepos()
	if err != nil {
		return err
	}
	release, err := c.hold()
	if err != nil {
		return err
	}
	defer release()
	sub := c.core.Hub().Subscribe(repos...)
	defer sub.Close()
	s := &stream{c: c, control: http.NewResponseController(c.w), limit: 2 * c.o.Heartbeat}
	if err := s.begin(); err != nil {
		return err
	}
	return s.follow(sub, repos)
}

// streamRepos returns the repos that were asked for and may be read. With none
// of them readable the answer is that of a repo that does not exist.
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
		if c.grant.Role(repo) >= api.Reader && !seen[repo] {
			seen[repo] = true
			repos = append(repos, repo)
		}
	}
	if len(repos) == 0 {
		return nil, core.NotFound()
	}
	return repos, nil
}

// stream writes one stream of events.
type stream struct {
	c       *call
	control *http.ResponseController
	limit   time.Duration // for one write
	buf     bytes.Buffer
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

// follow sends the state of all repos, then of those that move.
func (s *stream) follow(sub *core.Subscription, moved []api.Repo) error {
	c := s.c
	beat := time.NewTicker(c.o.Heartbeat)
	defer beat.Stop()
	end := s.expiry()
	defer end.Stop()
	for {
		changed := c.auth.Changed()
		if err := c.recheck(); err != nil {
			return s.finish("access ended")
		}
		if err := s.notices(moved); err != nil {
			return nil // the client connects again, and is told then
		}
		if s.flush() != nil {
			return nil
		}
		moved = nil
		select {
		case <-sub.Ready():
			moved = sub.Take()
		case <-beat.C:
			s.buf.WriteString(":\n\n")
		case <-changed:
		case <-end.C:
		case <-c.draining:
			return s.finish("restarting")
		case <-c.r.Context().Done():
			return nil
		}
	}
}

// expiry returns a timer for the end of the token, stopped if it has none.
func (s *stream) expiry() *time.Timer {
	at := s.c.grant.ExpiresAt
	if at.IsZero() {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(time.Until(at))
}

func (s *stream) notices(repos []api.Repo) error {
	for _, repo := range repos {
		if s.c.grant.Role(repo) < api.Reader {
			continue
		}
		notice, err := s.c.core.Notice(s.c.r.Context(), repo)
		if err != nil {
			return err
		}
		data, err := core.Marshal(notice)
		if err != nil {
			return err
		}
		fmt.Fprintf(&s.buf, "id: %d\ndata: %s\n\n", notice.Version, bytes.TrimSpace(data))
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
