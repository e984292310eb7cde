package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	startTime = time.Minute // most that a server may take to answer
	superuser = "postgres"
)

// settings are those of every cluster. Connections come by its socket alone, so
// nobody else on the machine is let in.
const settings = `
listen_addresses = ''
unix_socket_permissions = 0777
max_connections = 200
shared_buffers = 64MB
wal_level = replica
max_wal_senders = 8
hot_standby = on
fsync = on
log_min_messages = warning
`

// Forgetful is configuration for [New]: the server does not wait for the disk.
// What it wrote is still there when all its processes are killed, for the system
// keeps it; only the loss of the machine, which no test can bring about, would
// take it. Do not measure with it.
const Forgetful = "fsync = off"

// Cluster is one PostgreSQL server with its files. One goroutine uses it.
type Cluster struct {
	base *base
	dir  string
	cmd  *exec.Cmd // nil while it is down
	gone chan struct{}
}

// New makes a cluster and starts it with these lines of configuration. It ends
// with the test.
func New(tb testing.TB, conf ...string) *Cluster {
	tb.Helper()
	b := needBase(tb)
	c := b.create(tb, conf)
	tb.Cleanup(func() { c.remove(tb) })
	return c
}

func (b *base) create(tb testing.TB, conf []string) *Cluster {
	tb.Helper()
	c := b.newCluster(tb)
	b.run(tb, "initdb", "--no-sync", "--auth=trust", "--username="+superuser, "--encoding=UTF8", "--locale=C", "--pgdata="+c.data())
	c.Configure(tb, settings+strings.Join(conf, "\n"))
	c.Start(tb)
	return c
}

func (b *base) newCluster(tb testing.TB) *Cluster {
	tb.Helper()
	dir, err := os.MkdirTemp(b.dir, "c") //nolint:usetesting // the servers' user must reach it
	if err != nil {
		tb.Fatal(err)
	}
	if err := b.give(dir); err != nil {
		tb.Fatal(err)
	}
	return &Cluster{base: b, dir: dir}
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }
func (c *Cluster) log() string  { return filepath.Join(c.dir, "log") }

// FilesWith lists the files of the cluster's data directory that hold a text, what
// the server has only in memory not included.
func (c *Cluster) FilesWith(tb testing.TB, text string) (names []string) {
	tb.Helper()
	err := filepath.WalkDir(c.data(), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil // it went meanwhile
		}
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(content, []byte(text)) {
			name, _ := filepath.Rel(c.data(), path)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return names
}

// Directory makes an empty directory of the server's own user, for a tablespace.
func (c *Cluster) Directory(tb testing.TB, name string) string {
	tb.Helper()
	dir := filepath.Join(c.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := c.base.give(dir); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Socket is the directory of the cluster's socket: host in a DSN.
func (c *Cluster) Socket() string { return c.dir }

// DSN names the database postgres of this cluster.
func (c *Cluster) DSN() string {
	return fmt.Sprintf("host=%s user=%s dbname=postgres", c.dir, superuser)
}

// MultiHost names the database postgres of whichever of these clusters takes
// writes.
func MultiHost(clusters ...*Cluster) string {
	hosts := make([]string, len(clusters))
	for i, c := range clusters {
		hosts[i] = c.dir
	}
	return fmt.Sprintf("host=%s user=%s dbname=postgres target_session_attrs=read-write", strings.Join(hosts, ","), superuser)
}

// Configure adds lines to the configuration; the next start or [Cluster.Reload]
// applies them.
func (c *Cluster) Configure(tb testing.TB, lines string) {
	tb.Helper()
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := file.WriteString("\n" + lines + "\n"); err != nil {
		tb.Fatal(err)
	}
	if err := file.Close(); err != nil {
		tb.Fatal(err)
	}
}

// Start starts the server and waits until it answers.
func (c *Cluster) Start(tb testing.TB) {
	tb.Helper()
	cmd := c.base.command("postgres", "-D", c.data(), "-k", c.dir)
	log, err := os.OpenFile(c.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	c.cmd, c.gone = cmd, gone
	for begun := time.Now(); ; {
		err := c.ping()
		if err == nil {
			return
		}
		select {
		case <-gone:
			tb.Fatalf("the server ended: %s", c.lastLog())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(begun) > startTime {
			tb.Fatalf("the server does not answer: %v\n%s", err, c.lastLog())
		}
	}
}

func (c *Cluster) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}

func (c *Cluster) lastLog() string {
	text, _ := os.ReadFile(c.log())
	return string(text[max(0, len(text)-4096):])
}

// Stop ends the server in order, cutting off its sessions.
func (c *Cluster) Stop(tb testing.TB) {
	tb.Helper()
	c.end(tb, syscall.SIGINT)
}

// Kill ends the server and every process of it with SIGKILL, as the loss of the
// machine would.
func (c *Cluster) Kill(tb testing.TB) {
	tb.Helper()
	if c.cmd == nil {
		return
	}
	c.end(tb, syscall.SIGKILL)
	// Nobody starts processes any more: what is left is all, one included that was
	// being started at that moment. Some notice by themselves.
	for left := processesIn(c.data()); len(left) > 0; left = processesIn(c.data()) {
		for _, pid := range left {
			if process, err := os.FindProcess(pid); err == nil {
				_ = process.Kill()
			}
		}
		<-time.After(time.Millisecond)
	}
	if err := os.Remove(filepath.Join(c.data(), "postmaster.pid")); err != nil {
		tb.Error(err)
	}
}

func (c *Cluster) end(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if c.cmd == nil {
		return
	}
	if err := c.cmd.Process.Signal(signal); err != nil {
		tb.Errorf("signalling the server: %v", err)
	}
	select {
	case <-c.gone:
	case <-time.After(startTime):
		tb.Errorf("the server does not end: %s", c.lastLog())
	}
	c.cmd = nil
}

func (c *Cluster) remove(tb testing.TB) {
	tb.Helper()
	if tb.Failed() {
		tb.Logf("log of %s: %s", filepath.Base(c.dir), c.lastLog())
	}
	c.end(tb, syscall.SIGQUIT)
	if err := os.RemoveAll(c.dir); err != nil {
		tb.Error(err)
	}
}

// Restart kills the server and starts it again.
func (c *Cluster) Restart(tb testing.TB) {
	tb.Helper()
	c.Kill(tb)
	c.Start(tb)
}

// processesIn lists the processes that work in a directory, as every process of a
// server does in its data, where /proc says so. Corpses work nowhere.
func processesIn(dir string) (pids []int) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			continue
		}
		if at, err := os.Readlink(link); err == nil && at == dir {
			pids = append(pids, pid)
		}
	}
	return pids
}
