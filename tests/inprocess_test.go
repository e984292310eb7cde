package tests

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// inProcess is a way to a server in the same process, without a network: the
// only kind that a bubble of simulated time has room for. While handler is nil
// connections are refused.
type inProcess struct {
	mu      sync.Mutex
	handler http.Handler // guarded by mu
}

// RoundTrip implements [http.RoundTripper].
func (p *inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	handler := p.handler
	p.mu.Unlock()
	if handler == nil {
		return nil, syscall.ECONNREFUSED
	}
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr, in.Host = r.URL.RequestURI(), "127.0.0.1:1", r.URL.Host
	if in.Body == nil {
		in.Body = http.NoBody
	}
	read, write := io.Pipe()
	out := &pipeWriter{header: make(http.Header), body: write, begun: make(chan struct{})}
	gone := context.AfterFunc(r.Context(), func() { _ = read.CloseWithError(r.Context().Err()) })
	go func() {
		defer gone()
		handler.ServeHTTP(out, in)
		out.WriteHeader(http.StatusOK)
		_ = write.Close()
	}()
	select {
	case <-out.begun:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: out.status, Header: out.sent, Body: read, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}, nil
}

// pipeWriter is a [http.ResponseWriter] into a pipe. One handler uses it.
type pipeWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	begun        chan struct{} // closed when status and sent are set
}

// Header implements [http.ResponseWriter].
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *pipeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	}
}

// Write implements [http.ResponseWriter].
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush implements [http.Flusher].
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

// SetReadDeadline does nothing: there is no connection.
func (w *pipeWriter) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing either.
func (w *pipeWriter) SetWriteDeadline(time.Time) error { return nil }

// embedded is a real server over a real store, without a port.
type embedded struct {
	handler http.Handler
	token   string
	close   func()
}

// newEmbedded opens the store in dir and runs what a server needs until close.
func newEmbedded(t *testing.T, dir string) embedded {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true})
	if err != nil {
		t.Fatal(err)
	}
	tokens := auth.New(store, auth.Options{Log: slog.New(slog.DiscardHandler)})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- tokens.Run(ctx) }()
	e := embedded{close: func() {
		stop()
		if err := errors.Join(<-ended, store.Close()); err != nil {
			t.Errorf("closing the server: %v", err)
		}
	}}
	_, e.token, err = tokens.Create(t.Context(), "all", team, api.Writer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := core.New(core.Options{Store: store, Scan: func(context.Context, string, string) ([]api.Finding, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.New(server.Options{Core: c, Auth: tokens, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	e.handler = s.Handler()
	return e
}
