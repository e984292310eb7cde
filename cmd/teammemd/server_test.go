package main

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
)

// TestRevocationActsWithinASecond revokes by another process, with the cache of
// the running server warm.
func TestRevocationActsWithinASecond(t *testing.T) {
	data := t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	p := startServer(t, "--data", data)
	status := func() int { return p.ask(http.MethodGet, api.PathWhoAmI, secret, "").status }
	var lastGood time.Time // when the last request that was still let in was sent
	for range 3 {
		if got := status(); got != http.StatusOK {
			t.Fatalf("status %d", got)
		}
		if _, talk, code := run(t, "server", "token", "revoke", "test-writer", "--data", data); code != 0 {
			t.Fatalf("exit %d: %s", code, talk)
		}
		revoked := time.Now()
		eventually(t, "status 401", func() bool {
			sent := time.Now()
			if status() == http.StatusUnauthorized {
				return true
			}
			lastGood = sent
			return false
		})
		if late := lastGood.Sub(revoked); late > time.Second {
			t.Errorf("%s after the revocation the token was still good", late)
		}
		secret = token(t, data, api.Writer, "acme/*")
	}
	p.stop()
}

// TestNewerSchema opens a store that a later release wrote.
func TestNewerSchema(t *testing.T) {
	data := t.TempDir()
	token(t, data, api.Reader, "*")
	found, err := filepath.Glob(filepath.Join(data, "*.db"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	conn, err := sqlite.OpenConn(found[0], sqlite.OpenReadWrite|sqlite.OpenWAL)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteTransient(conn, "PRAGMA user_version = 9999", nil); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"server", "--listen", "127.0.0.1:0", "--data", data},
		{"server", "token", "list", "--data", data},
	} {
		out, talk, code := run(t, args...)
		if code != api.ExitConfig || out != "" || !strings.Contains(talk, "newer release") || strings.Count(talk, "\n") != 2 {
			t.Errorf("%v: exit %d, %q, %q", args, code, out, talk)
		}
	}
}

// TestReloadRefusesNobody changes the configuration under load. The requests
// are writes: those are not sent again when a connection closes under them.
func TestReloadRefusesNobody(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	const unlimited = "limits.rate_per_second = -1\n"
	file := write(t, dir, "server.toml", unlimited)
	p := startServer(t, "--data", data, "--config", file)
	body := entry(t, "a.md", "text")
	stop := make(chan struct{})
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				got, err := p.try(http.MethodPut, memoryPath("acme/api"), secret, body)
				if err != nil || got.status != http.StatusOK {
					t.Errorf("%d, %v", got.status, err)
					return
				}
			}
		})
	}
	for i, text := range []string{"writers_may_retire = true", "", "trusted_proxies = ['10.0.0.0/8']", "limits.burst = 9999", ""} {
		write(t, dir, "server.toml", text+"\n"+unlimited)
		p.signal(syscall.SIGHUP)
		p.log.await(t, "configuration reloaded", i+1)
	}
	close(stop)
	asking.Wait()
	p.stop()
}

// TestReloadKeepsWhatIsUnderWay changes the configuration in the middle of a
// write.
func TestReloadKeepsWhatIsUnderWay(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	secret := token(t, data, api.Writer, "acme/*")
	file := write(t, dir, "server.toml", "")
	p := startServer(t, "--data", data, "--config", file)
	put := beginPut(t, p, secret, entry(t, "a.md", "text"))
	write(t, dir, "server.toml", "writers_may_retire = true")
	p.signal(syscall.SIGHUP)
	p.log.await(t, "configuration reloaded", 1)
	if got := p.ask(http.MethodGet, api.PathReady, "", ""); got.status != http.StatusOK {
		t.Errorf("not ready after a reload: %d", got.status)
	}
	if got := put.finish(t); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
	p.stop()
}

// TestNotify is systemd's side of the notify protocol.
func TestNotify(t *testing.T) {
	data := t.TempDir()
	socket, err := os.MkdirTemp("", "notify") //nolint:usetesting // a short path, as sockets need
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(socket) })
	socket = filepath.Join(socket, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skipf("SKIP: no unixgram sockets here: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	p := startServer(t, "--data", data, withEnvironment, "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC=300000")
	var said []string
	next := func() string {
		buf := make([]byte, 256)
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatalf("%v after %v", err, said)
		}
		said = append(said, string(buf[:n]))
		return string(buf[:n])
	}
	count := func(what string) (n int) {
		for _, one := range said {
			if one == what {
				n++
			}
		}
		return n
	}
	for count("READY=1") < 1 || count("WATCHDOG=1") < 3 {
		next()
	}
	p.signal(syscall.SIGTERM)
	for next() != "STOPPING=1" {
	}
	p.wait()
}
