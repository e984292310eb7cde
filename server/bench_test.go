package server_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/teammem/teammemd/api"
)

// handler304 returns a call of the handler, without a connection, that answers 304.
func handler304(tb testing.TB) func() {
	tb.Helper()
	w := newWorld(tb, options{server: metered})
	token := w.token("acme/*", api.Writer)
	sum := w.put(token, "acme/api", entries{"a.md": "1"}).Checksum.String()
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://x"+memory("acme/api"), nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("If-None-Match", `"`+sum+`"`)
	handler := w.server.Handler()
	out := &discard{header: http.Header{}}
	return func() {
		clear(out.header)
		handler.ServeHTTP(out, r)
		if out.status != http.StatusNotModified {
			tb.Fatal(out.status)
		}
	}
}

// BenchmarkHandler304 is the handler alone.
func BenchmarkHandler304(b *testing.B) {
	call := handler304(b)
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// The answer that nearly every request gets makes next to nothing for the
// garbage collector: the name of the repo, and the request's id.
func TestNotModifiedAllocates(t *testing.T) {
	// With the race detector the pool of calls loses some of them by design.
	if got := testing.AllocsPerRun(2_000, handler304(t)); got > 4 {
		t.Errorf("a 304 takes %v allocations, want at most 4", got)
	}
}

type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
