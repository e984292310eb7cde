//go:build !windows

package tests

import (
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/tests/chaos"
)

// manager is a service manager's ear: what services notify.
type manager struct {
	path string

	mu   sync.Mutex
	said []string // guarded by mu
}

func newManager(t *testing.T) *manager {
	t.Helper()
	m := &manager{path: filepath.Join(t.TempDir(), "notify")}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	var listening sync.WaitGroup
	listening.Go(func() {
		buf := make([]byte, 4096)
		for {
			n, err := conn.Read(buf)
			if err != nil {
				return
			}
			m.mu.Lock()
			m.said = append(m.said, strings.Split(strings.TrimSpace(string(buf[:n])), "\n")...)
			m.mu.Unlock()
		}
	})
	t.Cleanup(func() { _ = conn.Close(); listening.Wait() })
	return m
}

// heard counts a notice.
func (m *manager) heard(notice string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	count := 0
	for _, line := range m.said {
		if line == notice {
			count++
		}
	}
	return count
}

// TestF30ServerThatNeverAnswers lets everything between a daemon and its server
// fall silent: calls end at their deadline, the daemon says offline and answers
// meanwhile, its watchdog is fed by the steps that end, and it goes on when the
// server speaks again.
func TestF30ServerThatNeverAnswers(t *testing.T) {
	t.Parallel()
	server := newCompanion(t)
	proxy := chaos.Start(t, chaos.Options{Target: server.url, Seed: 30})
	system := newManager(t)
	m := newFastMachine(t, "ada")
	token := server.token("ada", team, "writer")
	m.enroll(proxy.URL(), token, team)
	// The watchdog of the unit: a third of it is longer than any call.
	m.extra = []string{"NOTIFY_SOCKET=" + system.path, "WATCHDOG_USEC=180000000"}
	m.daemon()
	m.extra = nil
	m.write("before.md", "before\n")
	await(t, time.Minute, "the first file to be sent", func() bool { r := m.status(); return r.State == "in-sync" && r.Version > 0 })
	if system.heard("READY=1") != 1 {
		t.Errorf("the service manager heard READY=1 %d times, want once", system.heard("READY=1"))
	}
	await(t, time.Minute, "the watchdog to be fed at the start", func() bool { return system.heard("WATCHDOG=1") > 0 })

	proxy.Hush(true)
	asked := len(proxy.Requests())
	silent := time.Now()
	m.write("meanwhile.md", "meanwhile\n")
	await(t, 30*time.Second, "the daemon to ask", func() bool { return len(proxy.Requests()) > asked })
	if begun := time.Now(); m.status().State == "" || time.Since(begun) > 10*time.Second {
		t.Errorf("status took %s while the server is silent", time.Since(begun))
	}
	await(t, 90*time.Second, "the daemon to say offline", func() bool { return m.status().State == "offline" })
	t.Logf("FIGURE a server that accepts and never answers: offline after %d ms", time.Since(silent).Milliseconds())
	if r := m.status(); r.Pending != 1 {
		t.Errorf("%d pending in silence, want 1", r.Pending)
	}
	proxy.Hush(false)
	await(t, time.Minute, "the edit to arrive when the server speaks again", func() bool {
		full, _ := server.get(token, team)
		return full.Content.Entries["meanwhile.md"] == "meanwhile\n"
	})
	await(t, time.Minute, "status to say so", func() bool { return m.status().State == "in-sync" })
}
