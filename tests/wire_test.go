package tests

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// wire is a proxy on loopback through which a client reaches a server. It
// records every byte of both directions, and it can fail.
type wire struct {
	t      *testing.T
	ln     net.Listener
	target string

	mu       sync.Mutex
	captured bytes.Buffer          // guarded by mu
	conns    map[net.Conn]struct{} // both ends; guarded by mu
	severed  bool                  // guarded by mu
	era      int                   // counts calls of mute; guarded by mu
	// budget is how many more bytes of the server reach clients before the wire
	// breaks, -1 for all; guarded by mu.
	budget int
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, ln: ln, target: strings.TrimPrefix(target, "http://"), conns: make(map[net.Conn]struct{}), budget: -1}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { w.carry(conn) })
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		w.sever()
		serving.Wait()
	})
	return w
}

// url is where clients connect.
func (w *wire) url() string { return "http://" + w.ln.Addr().String() }

// hold notes an open connection, and reports false where the wire is cut.
func (w *wire) hold(conn net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.severed {
		return false
	}
	w.conns[conn] = struct{}{}
	return true
}

func (w *wire) carry(client net.Conn) {
	defer client.Close()
	if !w.hold(client) {
		return
	}
	server, err := net.Dial("tcp", w.target)
	if err != nil {
		return
	}
	defer server.Close()
	if !w.hold(server) {
		return
	}
	era := w.now()
	var both sync.WaitGroup
	both.Go(func() { w.copy(server, client, false, era); _ = server.(*net.TCPConn).CloseWrite() })
	both.Go(func() { w.copy(client, server, true, era); _ = client.(*net.TCPConn).CloseWrite() })
	both.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.conns, client)
	delete(w.conns, server)
}

func (w *wire) copy(to, from net.Conn, fromServer bool, era int) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if w.now() != era {
			n = 0 // swallowed
		}
		if !fromServer {
			// What is compressed cannot be searched: ask the server not to.
			copy(buf, bytes.Replace(buf[:n], []byte("Accept-Encoding: gzip"), []byte("Accept-Encoding: none"), 1))
		}
		allowed := w.record(buf[:n], fromServer)
		if _, writeErr := to.Write(buf[:allowed]); writeErr != nil || allowed < n {
			_, _ = to.Close(), from.Close()
			return
		}
		if err != nil {
			return
		}
	}
}

// record notes bytes and returns how many may pass.
func (w *wire) record(p []byte, fromServer bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.captured.Write(p)
	if !fromServer || w.budget < 0 {
		return len(p)
	}
	n := min(len(p), w.budget)
	w.budget -= n
	return n
}

// mute makes every connection that is open now carry nothing more, and closes
// none: so are peers that went away while a machine slept. New ones work.
func (w *wire) mute() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.era++
}

func (w *wire) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.era
}

// bytes is all that has passed.
func (w *wire) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.captured.Bytes())
}

// forget drops what was recorded.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.captured.Reset()
}

// sever cuts every connection, and those to come.
func (w *wire) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.severed = true
	for conn := range w.conns {
		_ = conn.Close()
	}
	clear(w.conns)
}

// mend lets connections through again, whole.
func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.severed, w.budget = false, -1
}

// breakAfter lets n more bytes of the server through, then breaks each
// connection on which more come.
func (w *wire) breakAfter(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.budget = n
}

// TestWire proves that the proxy passes, records, breaks and cuts.
func TestWire(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	w := newWire(t, ln.Addr().String())
	echo := func() (string, error) {
		conn, err := net.Dial("tcp", w.ln.Addr().String())
		if err != nil {
			return "", err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("across")); err != nil {
			return "", err
		}
		_ = conn.(*net.TCPConn).CloseWrite()
		text, err := io.ReadAll(conn)
		return string(text), err
	}
	if got, err := echo(); got != "across" || err != nil {
		t.Errorf("whole: %q, %v", got, err)
	}
	if got := string(w.bytes()); got != "acrossacross" {
		t.Errorf("recorded %q", got)
	}
	conn, err := net.Dial("tcp", w.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	said := func(text string) (string, error) {
		_, _ = conn.Write([]byte(text))
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		buf := make([]byte, len(text))
		_, err := io.ReadFull(conn, buf)
		return string(buf), err
	}
	if got, err := said("across"); got != "across" {
		t.Errorf("before it is mute: %q, %v", got, err)
	}
	w.mute()
	if got, err := said("nothing"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("mute: %q, %v", got, err)
	}
	if got, err := echo(); got != "across" || err != nil {
		t.Errorf("a new connection: %q, %v", got, err)
	}
	w.breakAfter(3)
	if got, _ := echo(); got != "acr" {
		t.Errorf("broken: %q", got)
	}
	w.mend()
	w.sever()
	if got, _ := echo(); got != "" {
		t.Errorf("cut: %q", got)
	}
	w.mend()
	if got, err := echo(); got != "across" || err != nil {
		t.Errorf("mended: %q, %v", got, err)
	}
}
