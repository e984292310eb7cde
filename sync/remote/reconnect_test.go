package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// TestF18Reconnect has a peer that takes requests and says nothing: what waits for
// it ends at once when the connections are given up, and the next request goes out
// on a new one.
func TestF18Reconnect(t *testing.T) {
	t.Parallel()
	sum := api.SumString("x").String()
	var silent atomic.Bool
	var conns atomic.Int64
	asked := make(chan string, 8)
	over := make(chan struct{})
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			asked <- r.URL.Path
			select {
			case <-r.Context().Done():
			case <-over:
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(api.HeaderProtocol, api.Protocol)
		fmt.Fprintf(w, `{"repo":"acme/api","version":1,"checksum":%q,"entryChecksums":{}}`, sum)
	}))
	web.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	web.Start()
	defer web.Close()
	defer close(over)
	c := dial(t, web.URL, "secret")
	look := func() error { _, err := c.Hashes(t.Context(), api.Checksum{}); return err }
	if err := look(); err != nil {
		t.Fatal(err)
	}
	silent.Store(true)
	ended := make(chan error, 2)
	go func() { ended <- look() }()
	go func() { ended <- c.Follow(t.Context(), func(api.Position) {}) }()
	<-asked
	<-asked
	before := conns.Load()
	c.Reconnect()
	for range 2 {
		select {
		case err := <-ended:
			if !errors.Is(err, api.ErrOffline) || errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v, want offline", err)
			}
		case <-time.After(20 * time.Second):
			t.Fatal("a request waits on a connection that was given up")
		}
	}
	silent.Store(false)
	if err := look(); err != nil {
		t.Errorf("after reconnecting: %v", err)
	}
	if conns.Load() != before+1 {
		t.Errorf("%d new connections, want 1", conns.Load()-before)
	}
	// A connection that rests is not used again either.
	c.Reconnect()
	if err := look(); err != nil || conns.Load() != before+2 {
		t.Errorf("after reconnecting at rest: %v, %d new connections, want 2", err, conns.Load()-before)
	}
}
