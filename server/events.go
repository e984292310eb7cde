package server

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
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
//
// Thousands of these wait at a time: what one keeps while it does is kept small.
func (c *call) events() error {
	s, err := c.openStream()
	if err != nil {
		return err
	}
	ours, err := s.takeOver()
	if ours {
		return nil
	}
	defer s.close()
	if err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	s.follow()
	return nil
}

// openStream finds out what the stream is about, and sends nothing yet. Whoever
// gets a stream has to close it.
func (c *call) openStream() (_ *stream, err error) {
	asked, err := c.streamRepos()
	if err != nil {
		return nil, err
	}
	release, err := c.hold()
	if err != nil {
		return nil, err
	}
	s := &stream{c: c, control: http.NewResponseController(c.w), release: release}
	s.out = httpOutlet{s.control, c.w}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	// What changes from here on wakes the stream.
	s.changed, s.moved = c.auth.Changed(), c.o.Access.Changed()
	if s.places, err = c.readable(asked); err != nil {
		return nil, err
	}
	if len(s.places) == 0 {
		return nil, core.NotFound()
	}
	s.sub = c.core.Hub().Subscribe(s.repos()...)
	h := c.w.Header()
	h["Content-Type"] = streamType
	h["Cache-Control"] = streamCache
	h["X-Accel-Buffering"] = unbuffered
	h["X-Content-Type-Options"] = noSniff
	return s, nil
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
	control *http.ResponseController // nil for one that was taken over
	out     outlet
	release func() // of what hold counted
	sub     *core.Subscription
	buf     []byte // not sent yet; nil while the stream waits

	places  []place         // that the stream is about; changes only in due times
	changed <-chan struct{} // closed when tokens changed
	moved   <-chan struct{} // closed when permissions may have changed

	timer *time.Timer // fires at the earlier of what follows
	beat  time.Time   // when the next comment is due, if nothing is sent before
	look  time.Time   // when access has to be found out again, zero for never
}

// close gives back what the stream holds.
func (s *stream) close() {
	_ = s.out.Close() // the client may have left before
	s.release()
	if s.sub != nil {
		s.sub.Close()
	}
	if s.timer != nil {
		s.timer.Stop()
	}
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

// Values of headers, shared by all streams: net/http only reads them.
var (
	streamType  = []string{"text/event-stream"}
	streamCache = []string{"no-cache, no-transform"}
	unbuffered  = []string{"no"} // nginx keeps answers back otherwise
)

// begin sends the head of a stream that net/http carries.
func (s *stream) begin() error {
	// The body of the request is over: only the client's leaving is to be read.
	if err := s.control.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("opening a stream: %w", err)
	}
	s.c.begin(http.StatusOK)
	return nil
}

// retry says how long to wait before the next connection.
func (s *stream) retry(wait time.Duration) {
	s.buf = append(strconv.AppendInt(append(s.buf, "retry: "...), wait.Milliseconds(), 10), '\n')
}

// follow sends the state of all repos, then of those that move. When access to
// one of them ends the stream does: the client connects again, and learns from
// its next request about that repo what became of it.
func (s *stream) follow() {
	s.retry(retryHint)
	s.buf = append(s.buf, '\n')
	s.timer = time.NewTimer(s.c.o.Heartbeat)
	s.seen()
	for open := s.say(s.repos(), true); open; {
		open = s.act(s.wait())
	}
}

// woken is why a stream woke up.
type woken int

const (
	wokenByRepos woken = iota
	wokenByTokens
	wokenByAccess
	wokenByTime
	wokenByStop
	wokenByClient
)

// wait has nothing to do. Next to nothing is to stand on the stack while it does.
func (s *stream) wait() woken {
	select {
	case <-s.sub.Ready():
		return wokenByRepos
	case <-s.changed:
		return wokenByTokens
	case <-s.moved:
		return wokenByAccess
	case <-s.timer.C:
		return wokenByTime
	case <-s.c.draining:
		return wokenByStop
	case <-s.c.r.Context().Done():
		return wokenByClient
	}
}

// act does what is due, and reports whether the stream goes on.
func (s *stream) act(why woken) bool {
	switch why {
	case wokenByRepos:
		return s.say(s.sub.Take(), false)
	case wokenByTokens:
		s.changed = s.c.auth.Changed()
	case wokenByAccess:
		s.moved = s.c.o.Access.Changed()
	case wokenByTime:
		if now := time.Now(); s.look.IsZero() || now.Before(s.look) {
			if !now.Before(s.beat) {
				s.buf = append(s.buf, ":\n\n"...)
				s.seen()
			}
			return s.say(nil, false)
		}
	case wokenByStop:
		return s.finish("restarting")
	case wokenByClient:
		return false
	}
	return s.say(nil, true)
}

// say sends what is new of the repos that moved, after a look whether the stream
// may go on if asked to. It reports whether it does.
func (s *stream) say(moved []api.Repo, look bool) bool {
	if look {
		if !s.still() {
			return s.finish("access ended")
		}
		s.look = s.until()
	}
	// Where something fails the client connects again, and is told then.
	if s.notices(moved) != nil || s.flush() != nil {
		return false
	}
	next := s.beat
	if !s.look.IsZero() && s.look.Before(next) {
		next = s.look
	}
	s.timer.Reset(time.Until(next))
	return true
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

// until returns when access has to be found out again: when the token ends or the
// first permission does, zero for never.
func (s *stream) until() (first time.Time) {
	for _, p := range s.places {
		if !p.until.IsZero() && (first.IsZero() || p.until.Before(first)) {
			first = p.until
		}
	}
	now := time.Now()
	soon := now.Add(minAsk)
	if !first.IsZero() && first.Before(soon) {
		first = soon
	}
	end := s.c.grant.ExpiresAt
	if end.IsZero() {
		return first
	}
	if !end.After(now) { // it should have ended by now: not a reason to ask all the time
		end = soon
	}
	if first.IsZero() || end.Before(first) {
		return end
	}
	return first
}

// notices writes the state of repos, under the names that the client asked for.
func (s *stream) notices(repos []api.Repo) (err error) {
	for _, repo := range repos {
		for _, p := range s.places {
			if p.repo != repo {
				continue
			}
			if s.buf, err = s.c.core.AppendEvent(s.c.r.Context(), s.buf, repo, p.asked); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish tells the client to connect again after a while, each at its own time,
// and reports that the stream does not go on.
func (s *stream) finish(why string) bool {
	s.retry(retryHint + rand.N(retrySpread))
	s.buf = append(append(append(s.buf, ": "...), why...), "\n\n"...)
	_ = s.flush() // the stream ends either way
	return false
}

// flush sends what was written.
func (s *stream) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	if err := s.send(s.buf); err != nil {
		return err
	}
	s.c.sent += int64(len(s.buf))
	s.buf, s.beat = nil, time.Now().Add(s.c.o.Heartbeat)
	return nil
}

// send sends p, for which the client has two heartbeats.
func (s *stream) send(p []byte) error {
	if err := s.out.SetWriteDeadline(time.Now().Add(2 * s.c.o.Heartbeat)); err != nil {
		return err
	}
	_, err := s.out.Write(p)
	return err
}
