package chaos_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/tests/chaos"
)

const answer = `{"version":12345678,"checksum":"none"}`

// server answers every request with the same object, and counts them.
func server(t *testing.T) (url string, hits *atomic.Int64) {
	t.Helper()
	hits = new(atomic.Int64)
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(w, "data: %d\n\n", i); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-time.After(5 * time.Millisecond):
				case <-r.Context().Done():
					return
				case <-release:
					return
				}
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(func() { close(release); web.Close() })
	return web.URL, hits
}

func newProxy(t *testing.T, target string, seed uint64) *chaos.Proxy {
	t.Helper()
	return chaos.Start(t, chaos.Options{Target: target, Seed: seed, Slowest: 50 * time.Millisecond})
}

// put makes one request on a connection of its own.
func put(t *testing.T, url, body string) (status int, text string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, url+"/x?repo=a", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(all), err
}

func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault  chaos.Fault
		status int    // 0: the connection fails before an answer
		text   string // what arrives
		broken bool   // the body fails
		hits   int64  // of the server
	}{
		{chaos.None, 200, answer, false, 1},
		{chaos.Refuse, 0, "", false, 0},
		{chaos.ResetBefore, 0, "", false, 0},
		{chaos.ResetAfter, 0, "", false, 1},
		{chaos.Delay, 200, answer, false, 1},
		{chaos.HalfClose, 200, answer[:len(answer)/2], true, 1},
		{chaos.Trickle, 200, answer, false, 1},
		{chaos.Duplicate, 200, answer, false, 2},
		{chaos.BadGateway, 502, "", false, 0},
		{chaos.Unavailable, 503, "", false, 0},
		{chaos.TooMany, 429, "", false, 0},
		{chaos.Reject, 400, "", false, 0},
		{chaos.Portal, 200, "", false, 0},
		{chaos.NoContent, 204, "", false, 0},
		{chaos.Truncated, 200, answer[:len(answer)/2], false, 1},
	}
	for _, tt := range tests {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			target, hits := server(t)
			p := newProxy(t, target, 1)
			p.Set(chaos.Mix{tt.fault: 1000})
			status, text, err := put(t, p.URL(), "body")
			if status != tt.status || tt.text != "" && text != tt.text || tt.status == 0 && err == nil || (status != 0) && (err != nil) != tt.broken {
				t.Errorf("status %d, %q, %v, want %d, %q, broken %t", status, text, err, tt.status, tt.text, tt.broken)
			}
			if hits.Load() != tt.hits {
				t.Errorf("the server saw %d requests, want %d", hits.Load(), tt.hits)
			}
			p.Set(nil)
			if status, text, err := put(t, p.URL(), "body"); status != 200 || text != answer || err != nil {
				t.Errorf("afterwards: %d, %q, %v", status, text, err)
			}
			seen := p.Requests()
			if last := seen[len(seen)-1]; last.Method != http.MethodPut || string(last.Body) != "body" || last.Status != 200 || string(last.Answer) != answer || last.Fault != chaos.None {
				t.Errorf("the last request is kept as %+v", last)
			}
			if first := seen[0]; tt.fault != chaos.Refuse && (first.Fault != tt.fault || (first.Status == 200) != (tt.hits > 0)) {
				t.Errorf("the first request is kept as %+v", first)
			}
		})
	}
}

// putInSilence makes a request that is not answered while the proxy is silent. It
// returns when the proxy has it.
func putInSilence(t *testing.T, p *chaos.Proxy) (ended <-chan error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { _, _, err := put(t, p.URL(), "body"); done <- err }()
	for len(p.Requests()) == 0 {
		select {
		case err := <-done:
			t.Fatalf("silence was broken: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	return done
}

func TestSilenceEndsWithTheFaults(t *testing.T) {
	t.Parallel()
	target, hits := server(t)
	p := newProxy(t, target, 1)
	p.Set(chaos.Mix{chaos.Silent: 1000})
	ended := putInSilence(t, p)
	p.Set(nil)
	if err := <-ended; err == nil || hits.Load() != 0 {
		t.Errorf("%v after silence, and the server saw %d requests", err, hits.Load())
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	target, _ := server(t)
	p := newProxy(t, target, 1)
	p.Once(func(r chaos.Request) bool { return bytes.Contains(r.Body, []byte("second")) }, chaos.TooMany)
	p.Always(func(r chaos.Request) bool { return bytes.Contains(r.Body, []byte("third")) }, chaos.BadGateway)
	for i, want := range []int{200, 429, 200, 502, 502} {
		body := []string{"first", "second", "second", "third", "third"}[i]
		if status, _, err := put(t, p.URL(), body); status != want || err != nil {
			t.Errorf("request %d: %d, %v, want %d", i, status, err, want)
		}
	}
}

// openStream opens the server's stream until the test ends.
func openStream(t *testing.T, p *chaos.Proxy) io.ReadCloser {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.URL()+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

// mustFlow reads a part of a stream.
func mustFlow(t *testing.T, stream io.Reader) {
	t.Helper()
	buf := make([]byte, 1024)
	for range 3 {
		if _, err := stream.Read(buf); err != nil {
			t.Fatalf("an open stream: %v", err)
		}
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	target, _ := server(t)
	p := newProxy(t, target, 1)
	stream := openStream(t, p)
	mustFlow(t, stream)
	p.Hush(true)
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, stream)
		read <- err
	}()
	p.Hush(false)
	p.Cut()
	if err := <-read; err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stream that was cut ends with %v", err)
	}
	p.Set(chaos.Mix{chaos.ResetAfter: 1000})
	if _, err := io.Copy(io.Discard, openStream(t, p)); err == nil {
		t.Error("a stream that breaks off ends well")
	}
}

// TestMute sees a stream fall silent for twenty of the server's lines, which does
// not end, while a new connection works.
func TestMute(t *testing.T) {
	t.Parallel()
	target, _ := server(t)
	p := newProxy(t, target, 1)
	stream := openStream(t, p)
	mustFlow(t, stream)
	p.Mute()
	read := make(chan error)
	go func() {
		buf := make([]byte, 1024)
		for {
			_, err := stream.Read(buf)
			select {
			case read <- err:
			case <-t.Context().Done():
			}
			if err != nil {
				return
			}
		}
	}()
	for silent, reads := false, 0; !silent; reads++ {
		select {
		case err := <-read:
			if err != nil || reads > 1000 {
				t.Fatalf("a mute stream goes on with %v", err)
			}
		case <-time.After(100 * time.Millisecond):
			silent = true
		}
	}
	if status, text, err := put(t, p.URL(), "x"); status != 200 || text != answer || err != nil {
		t.Errorf("a new connection: %d, %q, %v", status, text, err)
	}
	mustFlow(t, openStream(t, p))
}

// TestBreakAfter breaks an answer in its first line, then a stream, then nothing.
func TestBreakAfter(t *testing.T) {
	t.Parallel()
	target, hits := server(t)
	p := newProxy(t, target, 1)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	p.BreakAfter(9)
	if _, err := io.WriteString(conn, "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); string(got) != "HTTP/1.1 " {
		t.Errorf("of an answer %q has passed", got)
	}
	if _, _, err := put(t, p.URL(), "x"); err == nil || hits.Load() != 2 {
		t.Errorf("with nothing left: %v, and the server saw %d requests, want 2", err, hits.Load())
	}
	p.BreakAfter(-1)
	stream := openStream(t, p)
	mustFlow(t, stream)
	p.BreakAfter(100)
	if n, err := io.CopyN(io.Discard, stream, 10_000); err == nil {
		t.Errorf("a stream breaks after %d bytes, %v", n, err)
	}
	p.BreakAfter(-1)
	if status, text, err := put(t, p.URL(), "x"); status != 200 || text != answer || err != nil {
		t.Errorf("mended: %d, %q, %v", status, text, err)
	}
}

func TestHushHoldsAnswers(t *testing.T) {
	t.Parallel()
	target, hits := server(t)
	p := newProxy(t, target, 1)
	p.Hush(true)
	ended := putInSilence(t, p)
	if hits.Load() != 0 {
		t.Error("a request passed in silence")
	}
	p.Hush(false)
	if err := <-ended; err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestHold holds one request back while others pass, and lets it through.
func TestHold(t *testing.T) {
	t.Parallel()
	target, hits := server(t)
	p := newProxy(t, target, 1)
	held := p.Hold(func(r chaos.Request) bool { return string(r.Body) == "late" })
	type said struct {
		status int
		text   string
		err    error
	}
	ended := make(chan said, 1)
	go func() {
		status, text, err := put(t, p.URL(), "late")
		ended <- said{status, text, err}
	}()
	select {
	case <-held.Came():
	case got := <-ended:
		t.Fatalf("it was not held: %+v", got)
	}
	for _, body := range []string{"early", "late"} { // the next that matches is one
		if status, _, err := put(t, p.URL(), body); status != 200 || err != nil {
			t.Errorf("%q meanwhile: %d, %v", body, status, err)
		}
	}
	if n := hits.Load(); n != 2 {
		t.Errorf("the server saw %d requests, want the 2 that were not held", n)
	}
	held.Release()
	if got := <-ended; got != (said{200, answer, nil}) {
		t.Errorf("released: %+v", got)
	}
	if first := p.Requests()[0]; string(first.Body) != "late" || first.Status != 200 {
		t.Errorf("it is kept as %+v", first)
	}
	held.Release() // once more does nothing
}

func TestWireKeepsEveryByte(t *testing.T) {
	t.Parallel()
	target, _ := server(t)
	p := newProxy(t, target, 1)
	p.Set(chaos.Mix{chaos.ResetAfter: 1000})
	_, _, _ = put(t, p.URL(), "a body that is kept")
	for _, want := range []string{"a body that is kept", answer, "PUT /x?repo=a HTTP/1.1"} {
		if !bytes.Contains(p.Wire(), []byte(want)) {
			t.Errorf("the wire lacks %q, which was lost on its way", want)
		}
	}
}

// TestSeedDecides sees the same faults for the same seed, and others for
// another.
func TestSeedDecides(t *testing.T) {
	t.Parallel()
	target, _ := server(t)
	run := func(seed uint64) string {
		p := newProxy(t, target, seed)
		p.Set(chaos.Even(500, chaos.TooMany, chaos.BadGateway, chaos.NoContent))
		for range 40 {
			if _, _, err := put(t, p.URL(), "x"); err != nil {
				t.Fatal(err)
			}
		}
		var drawn strings.Builder
		for _, r := range p.Requests() {
			drawn.WriteString(r.Fault.String() + " ")
		}
		return drawn.String()
	}
	first := run(3)
	if again := run(3); again != first {
		t.Errorf("one seed, two histories:\n%s\n%s", first, again)
	}
	if other := run(4); other == first {
		t.Error("two seeds, one history")
	}
	if !strings.Contains(first, "none") || !strings.Contains(first, "too-many") {
		t.Errorf("a mix of a half drew %s", first)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range append(chaos.All(), chaos.None, chaos.Reject) {
		if name := f.String(); name == "" || seen[name] {
			t.Errorf("fault %d is called %q", f, name)
		}
		seen[f.String()] = true
	}
	if got := chaos.Fault(200).String(); got != "fault(200)" {
		t.Errorf("an unknown fault is called %q", got)
	}
}

func TestRetarget(t *testing.T) {
	t.Parallel()
	first, before := server(t)
	second, after := server(t)
	p := newProxy(t, first, 1)
	if err := p.Retarget(second); err != nil {
		t.Fatal(err)
	}
	if status, _, err := put(t, p.URL(), "x"); status != 200 || err != nil || before.Load() != 0 || after.Load() != 1 {
		t.Errorf("%d, %v; %d requests came to the old server, %d to the new one", status, err, before.Load(), after.Load())
	}
	if err := p.Retarget("://"); err == nil {
		t.Error("a target that is none is taken")
	}
}
