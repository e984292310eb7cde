package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// patience bounds what must happen at once, on a busy machine.
const patience = 30 * time.Second

// listener reads an event stream. Lines is closed when the stream ends.
type listener struct {
	t      *testing.T
	header http.Header
	lines  chan string
}

func (w *world) listen(t *testing.T, token string, repos ...string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+api.PathEvents+"?repo="+strings.Join(repos, "&repo="), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := w.client.Do(req) //nolint:bodyclose // closed by the goroutine that reads it
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("stream: %s", res.Status)
	}
	l := &listener{t: t, header: res.Header, lines: make(chan string)}
	go func() {
		defer close(l.lines)
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			select {
			case l.lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return l
}

// line returns the next line, and whether there was one before the end.
func (l *listener) line() (string, bool) {
	l.t.Helper()
	select {
	case line, ok := <-l.lines:
		return line, ok
	case <-time.After(patience):
		l.t.Fatal("nothing came")
		return "", false
	}
}

// notice returns the next event.
func (l *listener) notice() (id string, n api.Notice) {
	l.t.Helper()
	for {
		line, ok := l.line()
		if !ok {
			l.t.Fatal("the stream ended")
		}
		if rest, found := strings.CutPrefix(line, "id: "); found {
			id = rest
		}
		if rest, found := strings.CutPrefix(line, "data: "); found {
			if err := json.Unmarshal([]byte(rest), &n); err == nil {
				return id, n
			}
			// A repo that was never written has no epoch but a name.
			l.t.Fatalf("data: %s", rest)
		}
	}
}

// rest returns all lines up to the end.
func (l *listener) rest() []string {
	l.t.Helper()
	var lines []string
	for {
		line, ok := l.line()
		if !ok {
			return lines
		}
		lines = append(lines, line)
	}
}

func TestEvents(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("acme/*", api.Writer)
	first := w.put(token, "acme/a", entries{"k": "1"})
	l := w.listen(t, token, "acme/a", "acme/b", "other/x", "acme/a")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "X-Accel-Buffering": "no", "Cache-Control": "no-cache, no-transform", api.HeaderProtocol: "1",
	} {
		if got := l.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if line, _ := l.line(); line != "retry: 3000" {
		t.Errorf("the stream begins with %q", line)
	}
	a, b := first.Repo, repoOf(t, "acme/b")
	same := cmp.Comparer(func(x, y api.Repo) bool { return x == y })
	steps := []struct {
		act  func()
		want api.Notice
		id   string
	}{
		{func() {}, api.Notice{Repo: a, Epoch: first.Epoch, Version: 1}, "1"},
		{func() {}, api.Notice{Repo: b}, "0"},
		{func() { w.put(token, "acme/a", entries{"k": "2"}) }, api.Notice{Repo: a, Epoch: first.Epoch, Version: 2}, "2"},
		{func() { w.put(token, "acme/b", entries{"k": "1"}) }, api.Notice{Repo: b, Epoch: first.Epoch, Version: 1}, "1"},
		// A write without effect makes no event.
		{func() { w.put(token, "acme/a", entries{"k": "2"}); w.put(token, "acme/a", entries{"k": "3"}) }, api.Notice{Repo: a, Epoch: first.Epoch, Version: 3}, "3"},
	}
	for i, step := range steps {
		step.act()
		id, got := l.notice()
		if diff := cmp.Diff(step.want, got, same); diff != "" || id != step.id {
			t.Errorf("step %d: id %s (-want +got):\n%s", i, id, diff)
		}
	}
}

func repoOf(t *testing.T, s string) api.Repo {
	t.Helper()
	r, err := api.ParseRepo(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHeartbeat(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.Heartbeat = 20 * time.Millisecond }})
	l := w.listen(t, w.token("*", api.Reader), "acme/a")
	l.notice()
	beats := 0
	for beats < 3 {
		line, ok := l.line()
		if !ok {
			t.Fatal("the stream ended")
		}
		if strings.HasPrefix(line, ":") {
			beats++
		}
	}
}

func TestStreamOfRevokedTokenEnds(t *testing.T) {
	w := newWorld(t, options{})
	admin := auth.New(sqlitetest.Beside(t, w.dir), auth.Options{})
	token, secret, err := admin.Create(t.Context(), "ci", "*", api.Reader, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	other := w.listen(t, w.token("*", api.Writer), "acme/a")
	l := w.listen(t, secret, "acme/a")
	l.notice()
	other.notice()
	if err := admin.Revoke(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	// That whoever waits is told within a second is for auth's tests, whose clock
	// does not run while the machine is busy.
	tail := strings.Join(l.rest(), "\n")
	if !strings.Contains(tail, "retry: ") || !strings.Contains(tail, ": access ended") {
		t.Errorf("the stream ended with %q", tail)
	}
	w.put(w.token("*", api.Writer), "acme/a", entries{"k": "1"})
	if _, n := other.notice(); n.Version != 1 {
		t.Errorf("another token's stream says %+v", n)
	}
}

func TestStreamEndsWithItsToken(t *testing.T) {
	w := newWorld(t, options{})
	_, secret, err := w.auth.Create(t.Context(), "brief", "*", api.Reader, time.Now().Add(300*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	w.listen(t, secret, "acme/a").rest()
}

func TestStreamsAreBounded(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.MaxStreams = 1 }})
	token := w.token("*", api.Reader)
	w.listen(t, token, "acme/a").notice()
	a := w.do(request{path: api.PathEvents + "?repo=acme/a", token: token})
	wantStatus(t, "a second stream", a, 429, "rate_limited")
	if a.header.Get("Retry-After") == "" {
		t.Error("a 429 has no Retry-After")
	}
	wantStatus(t, "a long poll beside it", w.do(request{path: memory("acme/a", "wait=1"), token: token}), 429, "rate_limited")
	w.listen(t, w.token("*", api.Reader), "acme/a").notice()
}

func TestStreamQueries(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Reader)
	wantStatus(t, "no repo", w.do(request{path: api.PathEvents, token: token}), 400, "repo_invalid")
	wantStatus(t, "a bad repo", w.do(request{path: api.PathEvents + "?repo=a/b&repo=..", token: token}), 400, "repo_invalid")
	wantStatus(t, "too many", w.do(request{path: api.PathEvents + "?" + strings.Repeat("repo=a/b&", 1001), token: token}), 400, "bad_request")
	wantStatus(t, "no token", w.do(request{path: api.PathEvents + "?repo=a/b"}), 401, "signed_out")
}

func TestLongPoll(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	pushed := w.put(token, "acme/a", entries{"k": "1"})
	poll := func(query string) <-chan answer {
		answers := make(chan answer, 1)
		go func() {
			a, err := w.try(request{path: memory("acme/a", "view=hashes", query), token: token})
			if err != nil {
				t.Errorf("%s: %v", query, err)
			}
			answers <- a
		}()
		return answers
	}
	here := "&epoch=" + pushed.Epoch
	for query, want := range map[string]int{
		"wait=25&after=0" + here:               200, // behind
		"wait=25&after=9" + here:               200, // ahead: the server was restored
		"wait=25&after=1&epoch=another":        200,
		"wait=1&after=1" + here:                304,
		"wait=1&after=1":                       304,
		"wait=0&after=1" + here:                200,
		"wait=99999999999&after=0" + here:      200,
		"wait=25&after=0&since=0" + here:       200,
		"wait=25&after=0&view=hashes&x=" + "y": 400,
	} {
		select {
		case a := <-poll(query):
			if a.status != want {
				t.Errorf("%s: %d, want %d", query, a.status, want)
			}
			if want == 304 && a.header.Get(api.HeaderState) == "" {
				t.Errorf("%s: no state", query)
			}
		case <-time.After(patience):
			t.Fatalf("%s: no answer", query)
		}
	}
	waiting := poll("wait=25&after=1" + here)
	select {
	case a := <-waiting:
		t.Fatalf("answered before anything changed: %d", a.status)
	case <-time.After(50 * time.Millisecond):
	}
	w.put(token, "acme/a", entries{"k": "2"})
	select {
	case a := <-waiting:
		if got := decodeAs[api.HashesAnswer](t, a); got.Version != 2 {
			t.Errorf("version %d after the change, want 2", got.Version)
		}
	case <-time.After(patience):
		t.Fatal("the change did not end the wait")
	}
}

func TestLongPollForTheFirstWrite(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	wantStatus(t, "never written", w.do(request{path: memory("acme/a", "wait=1"), token: token}), 404, "not_found")
	l := w.listen(t, token, "acme/a")
	l.notice()
	answers := make(chan answer, 1)
	go func() {
		a, err := w.try(request{path: memory("acme/a", "wait=25&after=0"), token: token})
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}()
	w.put(token, "acme/a", entries{"k": "1"})
	select {
	case a := <-answers:
		wantStatus(t, "after the first write", a, 200, "")
	case <-time.After(patience):
		t.Fatal("the first write did not end the wait")
	}
}

func TestLongPollOfRevokedTokenEnds(t *testing.T) {
	w := newWorld(t, options{server: func(o *server.Options) { o.MaxStreams = 1 }})
	token, secret, err := w.auth.Create(t.Context(), "ci", "*", api.Writer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	w.put(secret, "acme/a", entries{"k": "1"})
	answers := make(chan answer, 1)
	go func() {
		for {
			a, err := w.try(request{path: memory("acme/a", "wait=25&after=1"), token: secret})
			if err != nil {
				t.Error(err)
			}
			if a.status != http.StatusTooManyRequests { // while a probe below holds the stream
				answers <- a
				return
			}
		}
	}()
	// While the poll holds the one stream that there may be, a second is refused.
	for w.do(request{path: memory("acme/a", "wait=1&after=0"), token: secret}).status != http.StatusTooManyRequests {
		select {
		case a := <-answers:
			t.Fatalf("the poll did not wait: %d", a.status)
		default:
		}
	}
	if err := w.auth.Revoke(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case a := <-answers:
		wantStatus(t, "a poll of a revoked token", a, 401, "signed_out")
	case <-time.After(patience):
		t.Fatal("the revocation did not end the wait")
	}
}
