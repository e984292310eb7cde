package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
)

// resident is the memory of this process that is not backed by files, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("/proc/self/status does not tell RssAnon")
	return 0
}

// needFiles skips where the system does not let a process have so many files
// open. The Go runtime has raised the soft limit to the hard one.
func needFiles(t *testing.T, n int) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur < uint64(n) {
		t.Skipf("a process may have %d files open, and %d are needed", limit.Cur, n)
	}
}

// streamBytes is the most that an idle event stream may cost, in bytes.
const streamBytes = 25_000

// TestScaleStreams holds many idle event streams, of clients in another process,
// and measures what each costs this one, beside streams of a handler that does
// nothing else.
func TestScaleStreams(t *testing.T) {
	streams := choose(10_000, 1_000)
	if testing.Short() {
		streams = 100
	}
	needFiles(t, streams+500)
	w := newWorld(t, options{server: metered})
	cost, live := costOfStreams(t, w.manyStreams(streams), func() {
		if got := w.core.Stats().Listeners; got != streams {
			t.Errorf("%d streams are open, want %d", got, streams)
		}
	})
	bare, _ := bareStreams(t)
	plain, _ := costOfStreams(t, bare.of(streams), func() {})
	t.Logf("FIGURE %d idle event streams: %d bytes of memory each (%d after a garbage collection); of a bare net/http handler: %d bytes", streams, cost, live, plain)
	if !testing.Short() && cost > streamBytes {
		t.Errorf("an idle event stream takes %d bytes, want at most %d", cost, streamBytes)
	}
}

// costOfStreams opens the streams and returns what each added to the memory of
// this process, in bytes: as it stands then, and without what is only garbage. It
// calls check while they are open, and closes them.
func costOfStreams(t *testing.T, order crowdOrder, check func()) (cost, live int64) {
	t.Helper()
	streams := len(order.Streams)
	debug.FreeOSMemory()
	before, goroutines := resident(t), runtime.NumGoroutine()
	crowd := gather(t, order)
	check()
	cost = (resident(t) - before) / int64(streams)
	debug.FreeOSMemory()
	live = (resident(t) - before) / int64(streams)
	crowd.leave()
	for began := time.Now(); runtime.NumGoroutine() > goroutines+streams/100; runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatal("streams stay open without their clients")
		}
	}
	return cost, live
}

// bareStreams is a server whose handler sends an event, and another at every call
// of send, and does nothing else.
func bareStreams(t *testing.T) (order crowdOrder, send func()) {
	t.Helper()
	var mu sync.Mutex
	next := make(chan struct{})
	wait := func() <-chan struct{} {
		mu.Lock()
		defer mu.Unlock()
		return next
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			sent := wait()
			_, _ = io.WriteString(w, "data: \n\n")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-sent:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return crowdOrder{Addr: s.Listener.Addr().String(), Streams: []crowdStream{{Repo: "acme/a"}}}, func() {
		mu.Lock()
		defer mu.Unlock()
		close(next)
		next = make(chan struct{})
	}
}

// manyStreams makes repos and tokens, and orders streams about them.
func (w *world) manyStreams(streams int) crowdOrder {
	w.t.Helper()
	admin := w.token("*", api.Writer)
	order := crowdOrder{Addr: strings.TrimPrefix(w.url, "http://")}
	var token string
	for i := range streams {
		if i%1_000 == 0 { // a token may have so many
			token = w.token("acme/*", api.Reader)
		}
		repo := fmt.Sprintf("acme/r%d", i%100)
		if i < 100 {
			w.put(admin, repo, entries{"k": "1"})
		}
		order.Streams = append(order.Streams, crowdStream{token, repo})
	}
	return order
}

// TestScaleListeners writes to a repo that many streams are about, of clients in
// another process, and measures when each of them hears of it: in turn with a
// handler that only sends an event to as many.
func TestScaleListeners(t *testing.T) {
	listeners, writes := choose(1_000, 100), choose(50, 3)
	needFiles(t, 2*listeners+500)
	w := newWorld(t, options{server: metered})
	token := w.token("acme/*", api.Writer)
	order := crowdOrder{Addr: strings.TrimPrefix(w.url, "http://"), Rounds: writes}
	bareOrder, send := bareStreams(t)
	bareOrder.Rounds = writes
	for range listeners {
		order.Streams = append(order.Streams, crowdStream{token, "acme/a"})
	}
	ours, theirs := gather(t, order), gather(t, bareOrder.of(listeners))
	var heard, last, answered, bare []time.Duration
	for i := range writes {
		began := time.Now()
		w.put(token, "acme/a", entries{"k": strconv.Itoa(i)})
		answered = append(answered, time.Since(began))
		heard = append(heard, ours.heard(began)...)
		last = append(last, heard[len(heard)-1])
		began = time.Now()
		send()
		bare = append(bare, theirs.heard(began)...)
	}
	if len(heard) != listeners*writes {
		t.Errorf("%d events arrived, want %d", len(heard), listeners*writes)
	}
	p99, floor := percentile(heard, 99), percentile(bare, 99)
	t.Logf("FIGURE 1 write to %d listeners of a repo, from the start of the PUT: p50 %.1f ms, p99 %.1f ms; the writer has its answer after %.1f ms, the last listener hears after %.1f ms (medians of %d writes); a bare net/http handler that only sends an event to as many, in turn: p50 %.1f ms, p99 %.1f ms",
		listeners, percentile(heard, 50), p99, percentile(answered, 50), percentile(last, 50), writes, percentile(bare, 50), floor)
	if limit := max(100, 3*floor); *scale && p99 > limit {
		t.Errorf("the p99 is %.1f ms, want at most %.0f", p99, limit)
	}
}
