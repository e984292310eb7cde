package server_test

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/metrics"
)

var scale = flag.Bool("scale", false, "full counts in the tests whose names begin with TestScale")

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

// streamBytes is the most that an idle event stream may cost.
const streamBytes = 25_000

// TestScaleStreams holds many idle event streams, of clients in another process,
// and measures what each costs this one.
func TestScaleStreams(t *testing.T) {
	streams := 1_000
	if *scale {
		streams = 10_000
	}
	if testing.Short() {
		streams = 100
	}
	needFiles(t, streams+500)
	w := newWorld(t, options{server: func(o *server.Options) { o.Meter = metrics.New("1.2.3") }})
	admin := w.token("*", api.Writer)
	order := crowdOrder{Addr: strings.TrimPrefix(w.url, "http://")}
	var token string
	for i := range streams {
		if i%1000 == 0 {
			token = w.token("acme/*", api.Reader)
		}
		repo := fmt.Sprintf("acme/r%d", i%100)
		if i < 100 {
			w.put(admin, repo, entries{"k": "1"})
		}
		order.Streams = append(order.Streams, crowdStream{token, repo})
	}
	debug.FreeOSMemory()
	before := resident(t)
	gather(t, order)
	asIs := (resident(t) - before) / int64(streams)
	debug.FreeOSMemory()
	debug.FreeOSMemory()
	live := (resident(t) - before) / int64(streams)
	if got := w.core.Stats().Listeners; got != streams {
		t.Errorf("%d streams are open, want %d", got, streams)
	}
	t.Logf("FIGURE %d idle event streams: %d bytes of memory each, %d after a garbage collection", streams, asIs, live)
}
