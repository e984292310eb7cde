package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// rig is a place for real processes to be measured in: one temporary directory
// with everything that they read or write, nothing of the user's among it. One
// goroutine uses it.
type rig struct {
	dir      string
	children []*benchChild // in the order of their start
}

func newRig() (*rig, error) {
	dir, err := os.MkdirTemp("", "teammemd-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a place to measure in: %w", err)
	}
	return &rig{dir: dir}, nil
}

// close ends what was started, the latest first, and removes the directory.
func (r *rig) close() error {
	for _, c := range slices.Backward(r.children) {
		c.end()
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("removing what was measured with: %w", err)
	}
	return nil
}

// house is one person's computer in a rig: a home, and an environment with
// nothing else in it.
type house struct {
	rig *rig
	dir string
}

func (r *rig) house(name string) (house, error) {
	h := house{r, filepath.Join(r.dir, name)}
	for _, dir := range []string{h.team(), h.xdg("config"), h.xdg("run"), h.tmp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return house{}, fmt.Errorf("making a place to measure in: %w", err)
		}
	}
	return h, nil
}

func (h house) team() string           { return filepath.Join(h.dir, "team") }
func (h house) xdg(kind string) string { return filepath.Join(h.dir, "xdg", kind) }
func (h house) tmp() string            { return filepath.Join(h.dir, "tmp") }

// getenv looks a variable of the house up.
func (h house) getenv(name string) string {
	for _, v := range h.env() {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (h house) env() []string {
	return []string{
		"HOME=" + h.dir, "USERPROFILE=" + h.dir, "USER=" + filepath.Base(h.dir), "LANG=C.UTF-8",
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TMPDIR=" + h.tmp(), "TEMP=" + h.tmp(), "TMP=" + h.tmp(),
		"APPDATA=" + h.xdg("config"), "LOCALAPPDATA=" + h.xdg("state"),
		"XDG_CONFIG_HOME=" + h.xdg("config"), "XDG_STATE_HOME=" + h.xdg("state"),
		"XDG_DATA_HOME=" + h.xdg("data"), "XDG_RUNTIME_DIR=" + h.xdg("run"),
	}
}

// command prepares a program to run in the house. It is asked to stop when ctx
// ends, and killed when it does not.
func (h house) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = h.dir, h.env()
	cmd.Cancel = func() error { return askToStop(cmd.Process) }
	cmd.WaitDelay = stopWithin
	return cmd
}

// run runs a program to its end and returns its standard output.
func (h house) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := h.command(ctx, program, args...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(program), args[0], err, lastLine(talk.String()))
	}
	return out, nil
}

// benchChild is a process that goes on until its rig is closed.
type benchChild struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	log  string        // file of all that it says
}

// start starts a program; out gets its standard output, nil for its log.
func (h house) start(ctx context.Context, out io.Writer, program string, args ...string) (*benchChild, error) {
	log, err := os.CreateTemp(h.tmp(), "log-")
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	c := &benchChild{cmd: h.command(context.WithoutCancel(ctx), program, args...), done: make(chan struct{}), log: log.Name()}
	c.cmd.Stderr, c.cmd.Stdout = log, log
	if out != nil {
		c.cmd.Stdout = out
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(program), err)
	}
	h.rig.children = append(h.rig.children, c)
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // whoever misses it looks at its log
	}()
	return c, nil
}

// alive returns an error with the last words of a process that has ended.
func (c *benchChild) alive() error {
	select {
	case <-c.done:
		text, _ := os.ReadFile(c.log)
		return fmt.Errorf("%s ended: %s", filepath.Base(c.cmd.Path), lastLine(string(text)))
	default:
		return nil
	}
}

// end asks the process to stop and waits for it; one that does not is killed.
func (c *benchChild) end() {
	if askToStop(c.cmd.Process) != nil {
		_ = c.cmd.Process.Kill()
	}
	patience := time.NewTimer(stopWithin)
	defer patience.Stop()
	select {
	case <-c.done:
	case <-patience.C:
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// askToStop lets a process clean up. Where the system has no way to ask, it is
// ended.
func askToStop(p *os.Process) error {
	err := p.Signal(syscall.SIGTERM)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return p.Kill()
	}
	return err
}

// lastLine is what a program said last.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// firstLine passes on the first line that is written to it.
type firstLine struct {
	got  []byte
	line chan string // capacity 1
}

func newFirstLine() *firstLine { return &firstLine{line: make(chan string, 1)} }

// Write implements [io.Writer]. One goroutine calls it.
func (f *firstLine) Write(p []byte) (int, error) {
	if f.line != nil {
		f.got = append(f.got, p...)
		if line, _, ok := bytes.Cut(f.got, []byte{'\n'}); ok {
			f.line <- string(line)
			f.line, f.got = nil, nil
		}
	}
	return len(p), nil
}

// until polls done every step until it holds.
func until(ctx context.Context, limit, step time.Duration, what string, done func() (bool, error)) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timeout.C:
			return fmt.Errorf("waited %s for %s", limit, what)
		case <-ticker.C:
		}
	}
}

// freePort returns a port of the loopback interface that nobody listens on.
func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().(*net.TCPAddr).Port, nil
}
