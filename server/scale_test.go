package server_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/metrics"
)

var scale = flag.Bool("scale", false, "full counts and bounds in the tests whose names begin with TestScale")

// choose returns the count of a full run or of a usual one.
func choose(full, usual int) int {
	if *scale {
		return full
	}
	return usual
}

// metered is a server as the program runs it: with its counters.
func metered(o *server.Options) { o.Meter = metrics.New("1.2.3") }

// percentile is in milliseconds.
func percentile(took []time.Duration, percent int) float64 {
	sorted := slices.Sorted(slices.Values(took))
	return float64(sorted[(len(sorted)-1)*percent/100].Nanoseconds()) / 1e6
}

// rawClient speaks HTTP over one connection with next to no work of its own, so
// that what is measured is the server.
type rawClient struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	buf     []byte
}

func dialRaw(tb testing.TB, addr, path string, header ...string) *rawClient {
	tb.Helper()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close() })
	lines := append([]string{"GET " + path + " HTTP/1.1", "Host: " + addr, "User-Agent: bench", "Accept-Encoding: gzip"}, header...)
	return &rawClient{conn: conn, in: bufio.NewReader(conn), request: []byte(strings.Join(lines, "\r\n") + "\r\n\r\n"), buf: make([]byte, 64<<10)}
}

var headEnd = []byte("\r\n\r\n")

// notModified sends the request and reads a 304, which is a head alone.
func (c *rawClient) notModified(tb testing.TB) {
	tb.Helper()
	if _, err := c.conn.Write(c.request); err != nil {
		tb.Fatal(err)
	}
	n := 0
	for !bytes.HasSuffix(c.buf[:n], headEnd) {
		m, err := c.conn.Read(c.buf[n:])
		if err != nil {
			tb.Fatal(err)
		}
		n += m
	}
	if !bytes.HasPrefix(c.buf[:n], []byte("HTTP/1.1 304 ")) {
		tb.Fatalf("answer: %s", c.buf[:n])
	}
}

// TestScaleNotModified compares the server's 304, with a token, over keep-alive,
// with a bare net/http handler that answers 304 and does nothing else, without
// time limits on its connections. Rounds of both are interleaved. Beside the
// medians it tells the fastest twentieth, in which other programs disturb least.
func TestScaleNotModified(t *testing.T) {
	w := newWorld(t, options{server: metered})
	token := w.token("acme/*", api.Writer)
	tag := `"` + w.put(token, "acme/api", entries{"a.md": "1"}).Checksum.String() + `"`
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
	}))
	defer bare.Close()
	header := []string{"Authorization: Bearer " + token, "If-None-Match: " + tag}
	ours := dialRaw(t, strings.TrimPrefix(w.url, "http://"), memory("acme/api"), header...)
	theirs := dialRaw(t, bare.Listener.Addr().String(), memory("acme/api"), header...)
	const perRound = 50
	round := func(c *rawClient) time.Duration {
		began := time.Now()
		for range perRound {
			c.notModified(t)
		}
		return time.Since(began) / perRound
	}
	var us, them []time.Duration
	for range choose(2_000, 5) {
		us, them = append(us, round(ours)), append(them, round(theirs))
	}
	ratio := func(percent int) float64 { return 100 * percentile(them, percent) / percentile(us, percent) }
	t.Logf("FIGURE 304 with a token: %.1f us; bare net/http handler, in turn: %.1f us: %.0f %% of its rate, %.0f %% in the fastest twentieth of %d rounds",
		1000*percentile(us, 50), 1000*percentile(them, 50), ratio(50), ratio(5), len(us))
	if *scale && ratio(5) < 70 {
		t.Errorf("a 304 has %.0f %% of the rate of a bare handler, want at least 70", ratio(5))
	}
}

// TestScaleHashes is the hashes view of 5,000 keys, from the cache, over
// keep-alive, beside a bare net/http handler that sends the same bytes.
func TestScaleHashes(t *testing.T) {
	w := newWorld(t, options{server: metered})
	token := w.token("acme/*", api.Writer)
	for i := range 10 {
		batch := entries{}
		for j := range 500 {
			batch[fmt.Sprintf("notes/part-%02d/file-%04d.md", i, j)] = fmt.Sprint(i, j)
		}
		w.put(token, "acme/api", batch)
	}
	for _, coding := range []string{"identity", "gzip"} {
		r := request{path: memory("acme/api", "view=hashes"), token: token, header: map[string]string{"Accept-Encoding": coding}}
		body := w.do(r).body
		bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		}))
		other := world{t: t, url: bare.URL, client: w.client}
		var us, them []time.Duration
		for range choose(500, 3) {
			for side, took := range map[*world]*[]time.Duration{w: &us, &other: &them} {
				began := time.Now()
				if a, err := side.try(r); err != nil || a.status != http.StatusOK || !bytes.Equal(a.body, body) {
					t.Fatal(a.status, len(a.body), err)
				}
				*took = append(*took, time.Since(began))
			}
		}
		bare.Close()
		p50 := percentile(us, 50)
		t.Logf("FIGURE hashes view of 5,000 keys from the cache, %s: p50 %.2f ms; bare net/http handler sending the same %d bytes, in turn: p50 %.2f ms",
			coding, p50, len(body), percentile(them, 50))
		if *scale && p50 > max(2, 3*percentile(them, 50)) {
			t.Errorf("the p50 is %.2f ms, want at most 2", p50)
		}
	}
}
