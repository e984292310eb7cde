package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/core"
)

// A stop turns readiness off, sends streams and polls away, and finishes the
// write that is under way.
func TestDrain(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	scanning, goOn := make(chan struct{}), make(chan struct{})
	w := newWorld(t, options{
		core: func(o *core.Options) {
			o.Scan = func(ctx context.Context, _, content string) ([]api.Finding, error) {
				if content == "slow" {
					close(scanning)
					select {
					case <-goOn:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return nil, nil
			}
		},
		server: func(o *server.Options) { o.DrainDelay = 10 * time.Millisecond },
	})
	token := w.token("*", api.Writer)
	w.put(token, "a/b", entries{"k": "1"})
	l := w.listen(t, token, "a/b")
	l.notice()
	results := make(chan answer, 2)
	send := func(r request) {
		a, err := w.try(r)
		if err != nil {
			t.Errorf("%s %s: %v", r.method, r.path, err)
		}
		results <- a
	}
	go send(request{path: memory("a/b", "wait=25&after=1"), token: token})
	go send(request{method: http.MethodPut, path: memory("a/b"), token: token, body: `{"entries":{"k":"slow"}}`})
	<-scanning

	stopped := make(chan error, 1)
	go func() { stopped <- w.stop() }()
	tail := strings.Join(l.rest(), "\n")
	if !strings.Contains(tail, "retry: ") || !strings.Contains(tail, ": restarting") {
		t.Errorf("the stream ended with %q", tail)
	}
	// Past the listener, which is closed at a moment of its own.
	for path, want := range map[string]int{api.PathReady: 503, api.PathLive: 200} {
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != want {
			t.Errorf("%s while draining: %d, want %d: %s", path, rec.Code, want, rec.Body)
		}
	}
	if a := <-results; a.status != 304 {
		t.Errorf("the poll was answered with %d, want 304", a.status)
	}
	select {
	case err := <-stopped:
		t.Fatalf("stopped with a write under way: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(goOn)
	a := <-results
	wantStatus(t, "the write under way", a, 200, "")
	if err := <-stopped; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if _, err := w.try(request{path: api.PathLive}); err == nil {
		t.Error("the server still answers after it stopped")
	}
	head, err := w.backend.Head(t.Context(), repoOf(t, "a/b"))
	if err != nil || head.Version != 2 {
		t.Errorf("the head after the stop: %v, %v", head, err)
	}
	w.client.CloseIdleConnections()
}

// A client that sends its head and then nothing is cut off in the end, and holds
// nothing up.
func TestClientThatNeverSendsItsBody(t *testing.T) {
	w := newWorld(t, options{})
	token := w.token("*", api.Writer)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "PUT "+memory("a/b")+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nAuthorization: Bearer "+token+"\r\n\r\n{")
	if err != nil {
		t.Fatal(err)
	}
	w.put(token, "a/b", entries{"k": "1"})
	conn.Close()
	wantStatus(t, "others", w.do(request{path: memory("a/b"), token: token}), 200, "")
}

func TestRunOnAClosedListener(t *testing.T) {
	w := newWorld(t, options{})
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	s, err := server.New(server.Options{Core: w.core, Auth: w.auth})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), ln); err == nil {
		t.Error("Run on a closed listener = nil")
	}
}
