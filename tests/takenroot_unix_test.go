//go:build unix

package tests

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestDaemonWaitsForAVerb starts a daemon while a verb has its only root for a
// moment, as status and sync do: it must not take that for another daemon and end.
func TestDaemonWaitsForAVerb(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.a.write("note.md", "text\n")
	p.a.sync(0)
	root, err := os.Open(p.a.team)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := syscall.Flock(int(root.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(p.a.bin, "daemon")
	cmd.Dir = p.a.work()
	daemon := p.a.launch(cmd, "daemon")
	says := func(what string) func() bool {
		return func() bool {
			if !daemon.running() {
				t.Fatalf("the daemon ended\n%s", daemon.talk())
			}
			return strings.Contains(daemon.talk(), what)
		}
	}
	await(t, stopLimit, "the daemon to find its root taken", says("root not started"))
	if err := syscall.Flock(int(root.Fd()), syscall.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	await(t, stopLimit, "the daemon to take its root", says("daemon started"))
	if n := strings.Count(daemon.talk(), "root not started"); n != 1 {
		t.Errorf("a taken root is told %d times", n)
	}
}
