//go:build !windows

package tests

import (
	"strings"
	"syscall"
	"testing"
)

// TestStuckDaemon: a daemon that was stopped still has its socket, and the kernel
// accepts in its place. No verb waits for it without end, or works beside it.
func TestStuckDaemon(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("a.md", "text\n")
	daemon := p.a.daemon()
	daemon.signal(syscall.SIGSTOP)
	defer daemon.signal(syscall.SIGCONT)
	for _, verb := range []string{"status", "sync"} {
		got := p.a.want(75, verb)
		if !strings.HasPrefix(got.stderr, "teammemd: already running: the daemon does not answer\nhint: ") {
			t.Errorf("%s says %q", verb, got.stderr)
		}
	}
}
