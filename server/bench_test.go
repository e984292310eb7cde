package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/metrics"
)

// rawClient speaks HTTP over one connection with next to no work of its own, so
// that what is measured is the server.
type rawClient struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	buf     []byte
}

func dialRaw(b *testing.B, addr, path string, header ...string) *rawClient {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	lines := append([]string{"GET " + path + " HTTP/1.1", "Host: " + addr, "User-Agent: bench", "Accept-Encoding: gzip"}, header...)
	return &rawClient{conn: conn, in: bufio.NewReader(conn), request: []byte(strings.Join(lines, "\r\n") + "\r\n\r\n"), buf: make([]byte, 64<<10)}
}

var headEnd = []byte("\r\n\r\n")

// notModified sends the request and reads a 304, which is a head alone.
func (c *rawClient) notModified(b *testing.B) {
	b.Helper()
	if _, err := c.conn.Write(c.request); err != nil {
		b.Fatal(err)
	}
	n := 0
	for !bytes.HasSuffix(c.buf[:n], headEnd) {
		m, err := c.conn.Read(c.buf[n:])
		if err != nil {
			b.Fatal(err)
		}
		n += m
	}
	if !bytes.HasPrefix(c.buf[:n], []byte("HTTP/1.1 304 ")) {
		b.Fatalf("answer: %s", c.buf[:n])
	}
}

// BenchmarkNotModified compares the server's 304, with a token, over keep-alive,
// with a bare net/http handler that answers 304 and does nothing else. Rounds of
// both are interleaved, and the medians compared; "ratio" is bare time over
// ours: 1 is as fast as bare, and less than 0.70 fails.
func BenchmarkNotModified(b *testing.B) {
	w := newWorld(b, options{server: func(o *server.Options) { o.Meter = metrics.New("1.2.3") }})
	token := w.token("acme/*", api.Writer)
	sum := w.put(token, "acme/api", entries{"a.md": "1"}).Checksum.String()

	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	tag := `"` + sum + `"`
	bare := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
	})}
	go func() { _ = bare.Serve(ln) }()
	defer bare.Close()

	header := []string{"Authorization: Bearer " + token, "If-None-Match: " + tag}
	ours := dialRaw(b, strings.TrimPrefix(w.url, "http://"), memory("acme/api"), header...)
	theirs := dialRaw(b, ln.Addr().String(), memory("acme/api"), header...)
	const perRound = 50
	round := func(c *rawClient) time.Duration {
		began := time.Now()
		for range perRound {
			c.notModified(b)
		}
		return time.Since(began) / perRound
	}
	var us, them []time.Duration
	for b.Loop() {
		us, them = append(us, round(ours)), append(them, round(theirs))
	}
	slices.Sort(us)
	slices.Sort(them)
	mine, bareTime := us[len(us)/2], them[len(them)/2]
	b.ReportMetric(float64(bareTime)/float64(mine), "ratio")
	b.ReportMetric(float64(them[len(them)/20])/float64(us[len(us)/20]), "ratio-p5")
	b.ReportMetric(float64(mine.Nanoseconds()), "ns/304")
	b.ReportMetric(float64(bareTime.Nanoseconds()), "ns/bare")
}

// handler304 returns a call of the handler, without a connection, that answers 304.
func handler304(tb testing.TB) func() {
	tb.Helper()
	w := newWorld(tb, options{server: func(o *server.Options) { o.Meter = metrics.New("1.2.3") }})
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

// BenchmarkHashes5000 is the hashes view of 5,000 keys, from the cached head, over
// keep-alive; p50 must stay below 2 ms.
func BenchmarkHashes5000(b *testing.B) {
	w := newWorld(b, options{server: func(o *server.Options) { o.Burst = 1 << 30 }})
	token := w.token("acme/*", api.Writer)
	for i := range 10 {
		batch := entries{}
		for j := range 500 {
			batch[fmt.Sprintf("notes/part-%02d/file-%04d.md", i, j)] = fmt.Sprint(i, j)
		}
		w.put(token, "acme/api", batch)
	}
	for _, coding := range []string{"identity", "gzip"} {
		b.Run(coding, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, w.url+memory("acme/api", "view=hashes"), nil)
				if err != nil {
					b.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Accept-Encoding", coding)
				res, err := w.client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK {
					b.Fatal(len(took), res.StatusCode, n, err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "us/p50")
		})
	}
}
