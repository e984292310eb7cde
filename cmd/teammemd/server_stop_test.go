package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// slowPut is a PUT whose body comes in two halves.
type slowPut struct {
	conn   net.Conn
	answer *bufio.Reader
	rest   string
}

// beginPut sends the head and half of the body, after the server said that it
// waits for it.
func beginPut(t *testing.T, p *process, secret, body string) *slowPut {
	t.Helper()
	host := strings.TrimPrefix(p.url, "http://")
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
		memoryPath("acme/api"), host, secret, len(body))
	s := &slowPut{conn: conn, answer: bufio.NewReader(conn), rest: body[len(body)/2:]}
	line, err := s.answer.ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := s.answer.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, body[:len(body)/2]); err != nil {
		t.Fatal(err)
	}
	return s
}

// finish sends the other half and returns the status.
func (s *slowPut) finish(t *testing.T) int {
	t.Helper()
	if _, err := io.WriteString(s.conn, s.rest); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(s.answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

// refused reports whether nobody listens any more.
func (p *process) refused() bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.url, "http://"), time.Second)
	if err != nil {
		return true
	}
	_ = conn.Close()
	return false
}

func TestStopFinishesWhatIsUnderWay(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			data := t.TempDir()
			secret := token(t, data, api.Writer, "acme/*")
			p := startServer(t, "--data", data)
			put := beginPut(t, p, secret, entry(t, "a.md", strings.Repeat("a line of text\n", 100)))
			p.signal(sig)
			eventually(t, "the port is closed", p.refused)
			if got := put.finish(t); got != http.StatusOK {
				t.Errorf("status %d", got)
			}
			p.wait()
			again := startServer(t, "--data", data)
			if got := again.ask(http.MethodGet, memoryPath("acme/api"), secret, ""); !strings.Contains(got.body, "a line of text") {
				t.Errorf("%d: %s", got.status, got.body)
			}
			again.stop()
		})
	}
}

// TestStopEndsStreams expects that an open stream does not hold up the stop for
// the time that requests in flight get.
func TestStopEndsStreams(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	p := startServer(t, "--data", data)
	p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", "text"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+api.PathEvents+"?repo=acme%2Fapi", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream := bufio.NewReader(resp.Body)
	for line := ""; !strings.HasPrefix(line, "data:"); {
		if line, err = stream.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	p.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if _, err := io.ReadAll(stream); err != nil {
		t.Errorf("the stream was cut off: %v", err)
	}
}

// TestKillLosesNothing kills the server hard after a write was answered.
func TestKillLosesNothing(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	p := startServer(t, "--data", data)
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", "kept")); got.status != http.StatusOK {
		t.Fatalf("%d: %s", got.status, got.body)
	}
	p.kill()
	again := startServer(t, "--data", data)
	if got := again.ask(http.MethodGet, memoryPath("acme/api"), secret, ""); !strings.Contains(got.body, `"a.md":"kept"`) {
		t.Errorf("%d: %s", got.status, got.body)
	}
	again.stop()
}

// TestDrainDelay expects that for a while after SIGTERM the server goes on and
// says that it stops.
func TestDrainDelay(t *testing.T) {
	t.Parallel()                   // it mostly waits
	const delay = 10 * time.Second // for three requests and a process
	data := t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	p := startServer(t, "--data", data, withEnvironment, "TEAMMEMD_SERVER_DRAIN_DELAY="+delay.String())
	began := time.Now()
	p.signal(syscall.SIGTERM)
	var got answer
	eventually(t, "readiness is off", func() bool {
		got = p.ask(http.MethodGet, api.PathReady, "", "")
		return got.status == http.StatusServiceUnavailable
	})
	if !strings.Contains(got.body, "draining") || got.header.Get("Retry-After") == "" {
		t.Errorf("%v: %s", got.header, got.body)
	}
	_, talk, code := run(t, "server", "healthcheck", "--listen", strings.TrimPrefix(p.url, "http://"))
	if code != api.ExitFailure || !strings.Contains(talk, "draining: the server is stopping") {
		t.Errorf("healthcheck: exit %d: %s", code, talk)
	}
	if got := p.ask(http.MethodPut, memoryPath("acme/api"), secret, entry(t, "a.md", "text")); got.status != http.StatusOK {
		t.Errorf("a write meanwhile: %d: %s", got.status, got.body)
	}
	p.wait()
	if took := time.Since(began); took < delay || took > delay+drainTime {
		t.Errorf("the stop took %s", took)
	}
}
