//go:build !windows

package tests

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// queuedEvents is how many events the kernel keeps for a program that does not
// read them, 0 where that is not known.
func queuedEvents() int {
	text, _ := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// TestF02StoppedDaemon stops a daemon's process while nine thousand files are
// made in a directory that it watches, more events than the kernel keeps, and
// lets it go on: all arrive at a second machine.
func TestF02StoppedDaemon(t *testing.T) {
	t.Parallel()
	files := 9_000
	if testing.Short() {
		files = 300
	}
	p := newPair(t)
	p.a.write("first.md", "first\n")
	daemon := p.a.daemon()
	p.b.daemon()
	await(t, time.Minute, "the first file to be sent", func() bool { r := p.a.status(); return r.State == "in-sync" && r.Version > 0 })
	daemon.signal(syscall.SIGSTOP)
	for i := range files {
		p.a.write(fmt.Sprintf("%05d.md", i), fmt.Sprintf("note %d\n", i))
	}
	daemon.signal(syscall.SIGCONT)
	awaitSame(t, 2*time.Minute, p.a, p.b)
	if got := len(treeOf(t, p.b.team)); got != files+1 {
		t.Errorf("%d files arrived, want %d", got, files+1)
	}
	// Each file is two events: it came, and it was written.
	if queue := queuedEvents(); queue > 0 && queue < 2*files && !strings.Contains(daemon.talk(), "file events lost") {
		t.Errorf("the kernel's queue of %d events did not overflow: this is no proof", queue)
	}
}
