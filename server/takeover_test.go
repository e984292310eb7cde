package server_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/metrics"
	"github.com/teammem/teammemd/server/store"
)

// A stream is the same whether its connection was taken over, or could not be:
// one of HTTP/2 is shared with other requests.
func TestStreamsOfBothProtocols(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	for proto := 1; proto <= 2; proto++ {
		repo := fmt.Sprintf("acme/h%d", proto)
		w.put(token, repo, entries{"k": "1"})
		s := httptest.NewUnstartedServer(w.server.Handler())
		s.EnableHTTP2 = proto == 2
		s.StartTLS()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+api.PathEvents+"?repo="+repo, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		res, err := s.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.ProtoMajor != proto || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get(api.HeaderRequest) == "" || res.Header.Get("Date") == "" {
			t.Errorf("HTTP/%d: answer %s with %v", proto, res.Proto, res.Header)
		}
		w.put(token, repo, entries{"k": "2"})
		in := bufio.NewScanner(res.Body)
		for version := 1; version < 2; {
			if !in.Scan() {
				t.Fatalf("HTTP/%d: the stream ended: %v", proto, in.Err())
			}
			_, _ = fmt.Sscanf(in.Text(), "id: %d", &version)
		}
		cancel()
		res.Body.Close()
		s.Close()
	}
}

// A client that leaves is noticed at once, and its stream is in the log and
// nowhere else.
func TestStreamOfAClientThatLeft(t *testing.T) {
	w, access := accessWorld(t, nil)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s?repo=acme/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", api.PathEvents, w.token("*", api.Reader)); err != nil {
		t.Fatal(err)
	}
	for in := bufio.NewScanner(conn); in.Scan() && !strings.HasPrefix(in.Text(), "data: "); {
	}
	if got := w.core.Stats().Listeners; got != 1 {
		t.Errorf("%d listeners while the stream is open", got)
	}
	if lines := access.String(); lines != "" {
		t.Errorf("in the log while the stream is open: %s", lines)
	}
	conn.Close()
	line := accessLines(t, access, 1)[0]
	if line["route"] != api.PathEvents || line["method"] != http.MethodGet || line["status"] != 200.0 || line["bytes"].(float64) < 20 || line["client"] != "127.0.0.1" {
		t.Errorf("logged %v", line)
	}
	if got := w.core.Stats().Listeners; got != 0 {
		t.Errorf("%d listeners after the client left", got)
	}
}

// trapped panics where a repo's head is read, once it is set.
type trapped struct {
	store.Backend
	set chan struct{}
}

func (s trapped) Head(ctx context.Context, repo api.Repo) (*store.Head, error) {
	select {
	case <-s.set:
		panic("a trap")
	default:
		return s.Backend.Head(ctx, repo)
	}
}

// A panic ends one stream, not the server.
func TestPanicInAStream(t *testing.T) {
	set := make(chan struct{})
	w := newWorld(t, options{store: func(b store.Backend) store.Backend { return trapped{b, set} }})
	token := w.token("*", api.Writer)
	w.put(token, "acme/a", entries{"k": "1"})
	l := w.listen(t, token, "acme/a")
	l.notice()
	close(set)
	w.core.Hub().BumpAll()
	l.rest()
	wantStatus(t, "after the panic", w.do(request{path: api.PathWhoAmI, token: token}), 200, "")
	for began := time.Now(); !strings.Contains(w.logged.String(), "handler panicked"); {
		if time.Since(began) > patience {
			t.Fatalf("the log does not tell: %s", w.logged)
		}
	}
	if !strings.Contains(w.logged.String(), "trapped.Head") || strings.Contains(w.logged.String(), "a trap") {
		t.Errorf("logged %s", w.logged)
	}
}

// slowMeter takes its time to count the end of a stream.
type slowMeter struct {
	*metrics.Metrics
	counting, goOn chan struct{}
}

func (m slowMeter) Streams(delta int) {
	if delta < 0 {
		close(m.counting)
		<-m.goOn
	}
}

// A stop waits for the streams that net/http knows nothing of.
func TestStopWaitsForStreams(t *testing.T) {
	meter := slowMeter{metrics.New("1.2.3"), make(chan struct{}), make(chan struct{})}
	w := newWorld(t, options{server: func(o *server.Options) { o.Meter = meter }})
	l := w.listen(t, w.token("*", api.Reader), "acme/a")
	l.notice()
	stopped := make(chan struct{})
	go func() { _ = w.stop(); close(stopped) }()
	l.rest()
	<-meter.counting
	select {
	case <-stopped:
		t.Error("the server stopped while a stream was under way")
	case <-time.After(100 * time.Millisecond):
	}
	close(meter.goOn)
	<-stopped
}
