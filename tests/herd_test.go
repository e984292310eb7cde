package tests

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/remote"
)

// herd is many clients of one server. It notes when each hears of the server
// again, and what the server answered when.
type herd struct {
	mu      sync.Mutex
	back    map[int]time.Time // by client: its first notice; guarded by mu
	answers int               // guarded by mu
	broken  []time.Time       // of answers of 500 and more; guarded by mu
}

// anew begins to count anew.
func (h *herd) anew() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.back, h.answers, h.broken = make(map[int]time.Time), 0, nil
}

func (h *herd) heard(client int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.back[client]; !known && h.back != nil {
		h.back[client] = time.Now()
	}
}

func (h *herd) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.back)
}

// counted is a transport that counts answers.
type counted struct {
	http.RoundTripper
	h *herd
}

// RoundTrip implements [http.RoundTripper].
func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		c.h.mu.Lock()
		defer c.h.mu.Unlock()
		c.h.answers++
		if resp.StatusCode >= http.StatusInternalServerError {
			c.h.broken = append(c.h.broken, time.Now())
		}
	}
	return resp, err
}

// listener is a remote that says when it is told something.
type listener struct {
	teamsync.Remote
	heard func()
}

// Follow implements [teamsync.Remote].
func (l listener) Follow(ctx context.Context, notify func(api.Position)) error {
	return l.Remote.Follow(ctx, func(at api.Position) { l.heard(); notify(at) })
}

// steadyPort finds a free port that the system gives to no outgoing connection:
// what listens there can be ended and begun again, however many clients try to
// reach it meanwhile.
func steadyPort(t *testing.T) string {
	t.Helper()
	for port := 21_000; port < 32_000; port += 37 {
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = ln.Close()
		return ln.Addr().String()
	}
	t.Fatal("no port is free")
	return ""
}

// TestF25Herd takes the server away from five hundred clients for ten seconds:
// all are back within thirty, and hear of a change that one of them makes then.
func TestF25Herd(t *testing.T) {
	t.Parallel()
	clients := 500
	if testing.Short() {
		clients = 50
	}
	server := &companion{machine: newMachine(t, "server")}
	server.data = server.home + "/data"
	server.up(steadyPort(t))
	token := server.token("all", team, "writer")
	if a := server.push(token, team, map[string]string{"note.md": "before\n"}); a.status != http.StatusOK {
		t.Fatalf("status %d", a.status)
	}
	h, key := new(herd), keyOf(t, "note.md")
	h.anew()
	all := make([]*light, clients)
	for i := range all {
		transport := remote.NewTransport()
		t.Cleanup(transport.CloseIdleConnections)
		client := dial(t, remote.Options{URL: server.url, Transport: counted{transport, h}}, token)
		all[i] = newLight(t, listener{client, func() { h.heard(i) }}, nil)
	}
	have := func(text string) int {
		n := 0
		for _, l := range all {
			if l.tree.read(key) == text {
				n++
			}
		}
		return n
	}
	await(t, time.Minute, "all clients to be in step", func() bool { return have("before\n") == clients && h.count() == clients })

	server.kill()
	time.Sleep(10 * time.Second) // the fault itself
	h.anew()
	server.again()
	again := time.Now() // it listens: how long a process takes to start is no part of it
	await(t, 90*time.Second, "all clients to be back", func() bool { return h.count() == clients })
	allBack := time.Since(again)
	all[0].tree.write(key, "after\n")
	all[0].engine.Hint(false, false)
	await(t, time.Minute, "all clients to have the change", func() bool { return have("after\n") == clients })

	h.mu.Lock()
	defer h.mu.Unlock()
	waits := make([]time.Duration, 0, clients)
	for _, at := range h.back {
		waits = append(waits, at.Sub(again))
	}
	slices.Sort(waits)
	t.Logf("FIGURE %d clients, server killed for 10 s: half back after %d ms, all after %d ms, all with a change after %d ms; %d answers, %d of them 5xx",
		clients, waits[clients/2].Milliseconds(), waits[clients-1].Milliseconds(), time.Since(again).Milliseconds(), h.answers, len(h.broken))
	if allBack > 30*time.Second {
		t.Errorf("all are back after %s, want at most 30 s", allBack)
	}
	for _, at := range h.broken {
		if late := at.Sub(again); late > time.Second {
			t.Errorf("a 5xx came %s after the server did", late)
		}
	}
	if spread := waits[clients-1] - waits[0]; clients >= 100 && spread < time.Second {
		t.Errorf("all came back within %s of each other: that is a herd", spread)
	}
}
