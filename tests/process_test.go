package tests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stopLimit bounds how long a process may take to stop, and startLimit how long it
// may take until it says that it has started: it promises nothing, and a machine
// may be busy.
const (
	stopLimit  = 20 * time.Second
	startLimit = time.Minute
)

// process is a long-running command of a machine. It ends with the test at the
// latest.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr string // files
	done           chan struct{}
	killed         bool
	crashed        bool
}

// start starts the program and returns at once.
func (m *machine) start(args ...string) *process {
	m.t.Helper()
	return m.startIn(m.work(), args...)
}

func (m *machine) startIn(dir string, args ...string) *process {
	m.t.Helper()
	cmd := exec.Command(m.bin, args...)
	cmd.Dir = dir
	return m.launch(cmd, args[0])
}

// launch starts a prepared command as if it were the program.
func (m *machine) launch(cmd *exec.Cmd, name string) *process {
	m.t.Helper()
	out, err := os.CreateTemp(m.t.TempDir(), name+"-stdout-")
	if err != nil {
		m.t.Fatal(err)
	}
	talk, err := os.Create(strings.Replace(out.Name(), "-stdout-", "-stderr-", 1))
	if err != nil {
		m.t.Fatal(err)
	}
	cmd.Env, cmd.Stdout, cmd.Stderr = m.env(), out, talk
	err = cmd.Start()
	_, _ = out.Close(), talk.Close() // the process has its own
	if err != nil {
		m.t.Fatalf("starting %q: %v", cmd.Args, err)
	}
	m.mu.Lock()
	m.files = append(m.files, out.Name(), talk.Name())
	m.mu.Unlock()
	p := &process{t: m.t, cmd: cmd, stdout: out.Name(), stderr: talk.Name(), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the state says how it ended
	}()
	m.t.Cleanup(p.cleanup)
	return p
}

func (p *process) cleanup() {
	if p.running() {
		if code := p.stop(); code != 0 {
			p.t.Errorf("%q: exit code %d at the end\n%s", p.cmd.Args[1:], code, p.talk())
		}
	}
	if text := p.talk(); !p.crashed && traces.MatchString(text) {
		p.t.Errorf("%q lost control of itself:\n%s", p.cmd.Args[1:], text)
	}
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends a signal, unless the process has just ended by itself.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatal(err)
	}
}

// stop asks the process to stop by SIGTERM and returns its exit code.
func (p *process) stop() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.wait()
}

// kill ends the process without giving it a moment.
func (p *process) kill() {
	p.t.Helper()
	p.killed = true
	p.signal(os.Kill)
	p.wait()
}

// crash ends the process by a signal on which the Go runtime tells all that it
// knows, and returns what it told.
func (p *process) crash(s os.Signal) string {
	p.t.Helper()
	p.killed, p.crashed = true, true
	p.signal(s)
	p.wait()
	return p.talk()
}

// wait returns the exit code of a process that is about to end.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		p.t.Errorf("%q did not end within %s; it is killed", p.cmd.Args[1:], stopLimit)
		p.killed = true
		_ = p.cmd.Process.Kill()
		<-p.done
	}
	if p.killed {
		return 0
	}
	return p.cmd.ProcessState.ExitCode()
}

// talk is what the process wrote to standard error so far.
func (p *process) talk() string { return textOf(p.t, p.stderr) }

// results is what the process wrote to standard output so far.
func (p *process) results() string { return textOf(p.t, p.stdout) }

// awaitLine waits for a line of standard output that begins with prefix, and
// returns the rest of it.
func (p *process) awaitLine(prefix string) string {
	p.t.Helper()
	var rest string
	find := func() bool {
		lines := bufio.NewScanner(strings.NewReader(p.results()))
		for lines.Scan() {
			var found bool
			if rest, found = strings.CutPrefix(strings.TrimSpace(lines.Text()), prefix); found {
				rest = strings.TrimSpace(rest)
				return true
			}
		}
		return false
	}
	for begun := time.Now(); !find(); time.Sleep(2 * time.Millisecond) {
		if !p.running() && !find() {
			p.t.Fatalf("%q ended with code %d before it said %q\n%s%s", p.cmd.Args[1:], p.cmd.ProcessState.ExitCode(), prefix, p.results(), p.talk())
		}
		if time.Since(begun) > startLimit {
			p.t.Fatalf("%q did not say %q within %s\n%s%s", p.cmd.Args[1:], prefix, startLimit, p.results(), p.talk())
		}
	}
	return rest
}

// daemon starts the machine's daemon and waits until it answers.
func (m *machine) daemon(args ...string) *process {
	m.t.Helper()
	return m.daemonBy(exec.Command(m.bin, append([]string{"daemon"}, args...)...))
}

// daemonBy is daemon by a prepared command.
func (m *machine) daemonBy(cmd *exec.Cmd) *process {
	m.t.Helper()
	cmd.Dir = m.work()
	p := m.launch(cmd, "daemon")
	await(m.t, startLimit, "the daemon to start", func() bool {
		if !p.running() {
			m.t.Fatalf("the daemon ended\n%s", p.talk())
		}
		return strings.Contains(p.talk(), "daemon started")
	})
	return p
}

// endDetached ends the daemon that `up --detach` left behind. Its id is the
// daemon's own word, checked against the home that it was started in.
func (m *machine) endDetached() {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.state(), "daemon.lock.pid"))
	if err != nil {
		return // it has ended
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 1 {
		m.t.Errorf("the daemon's id is %q", text)
		return
	}
	gone := func() bool {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err != nil || !bytes.Contains(env, []byte("HOME="+m.home+"\x00"))
	}
	if gone() {
		return
	}
	daemon, err := os.FindProcess(pid)
	if err != nil {
		m.t.Error(err)
		return
	}
	_ = daemon.Signal(syscall.SIGTERM)
	for begun := time.Now(); !gone(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > stopLimit {
			m.t.Errorf("process %d did not end within %s; it is killed", pid, stopLimit)
			_ = daemon.Kill()
			return
		}
	}
}

// await polls until done holds, and fails the test after limit.
func await(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for begun := time.Now(); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > limit {
			t.Fatalf("waited %s for %s", limit, what)
		}
	}
}
