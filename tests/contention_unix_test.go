//go:build !windows

package tests

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// TestStoppedDaemon stops a daemon's process while nine thousand files are
// made, more events than the kernel keeps, and lets it go on: all arrive.
func TestStoppedDaemon(t *testing.T) {
	t.Parallel()
	files := 9_000
	if testing.Short() {
		files = 300
	}
	p := newPair(t)
	p.a.write("first.md", "first\n")
	daemon := p.a.daemon()
	await(t, 20*time.Second, "the first file to be sent", func() bool { r := p.a.status(); return r.State == "in-sync" && r.Version > 0 })
	daemon.signal(syscall.SIGSTOP)
	for i := range files {
		p.a.write(fmt.Sprintf("d%d/%05d.md", i%9, i), fmt.Sprintf("note %d\n", i))
	}
	daemon.signal(syscall.SIGCONT)
	reader := p.server.token("reader", team, "reader")
	await(t, time.Minute, "all files to be sent", func() bool {
		full, _ := p.server.get(reader, team)
		return len(full.Content.Entries) == files+1
	})
	full, _ := p.server.get(reader, team)
	sameTree(t, "the machine and the server", treeOf(t, p.a.team), full.Content.Entries)
}
