package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// host is one computer in a rig: a home directory, and an environment with
// nothing else in it.
type host struct {
	rig *rig
	dir string
}

func (r *rig) host(name string) (host, error) {
	h := host{r, filepath.Join(r.dir, name)}
	for _, dir := range []string{h.teamDir(), h.xdg("config"), h.xdg("run"), h.tmp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return host{}, fmt.Errorf("making a place to measure in: %w", err)
		}
	}
	return h, nil
}

func (h host) teamDir() string        { return filepath.Join(h.dir, "team") }
func (h host) xdg(kind string) string { return filepath.Join(h.dir, "xdg", kind) }
func (h host) tmp() string            { return filepath.Join(h.dir, "tmp") }

// getenv looks a variable of the host up.
func (h host) getenv(name string) string {
	for _, v := range h.env() {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}

func (h host) env() []string {
	return []string{
		"HOME=" + h.dir, "USERPROFILE=" + h.dir, "USER=" + filepath.Base(h.dir), "LANG=C.UTF-8",
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TMPDIR=" + h.tmp(), "TEMP=" + h.tmp(), "TMP=" + h.tmp(),
		"APPDATA=" + h.xdg("config"), "LOCALAPPDATA=" + h.xdg("state"),
		"XDG_CONFIG_HOME=" + h.xdg("config"), "XDG_STATE_HOME=" + h.xdg("state"),
		"XDG_DATA_HOME=" + h.xdg("data"), "XDG_RUNTIME_DIR=" + h.xdg("run"),
	}
}

// command prepares a program to run on the host. It is asked to stop when ctx
// ends, and killed when it does not.
func (h host) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = h.dir, h.env()
	cmd.Cancel = func() error { return askToStop(cmd.Process) }
	cmd.WaitDelay = stopWithin
	return cmd
}

// run runs a program to its end and returns its standard output.
func (h host) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	cmd := h.command(ctx, program, args...)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(program), args[0], err, lastLine(talk.String()))
	}
	return out, nil
}

// start starts a program; out gets its standard output, nil for its log.
func (h host) start(ctx context.Context, out io.Writer, program string, args ...string) (*process, error) {
	log, err := os.CreateTemp(h.tmp(), "log-")
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	p := &process{cmd: h.command(context.WithoutCancel(ctx), program, args...), done: make(chan struct{}), log: log.Name()}
	p.cmd.Stderr, p.cmd.Stdout = log, log
	if out != nil {
		p.cmd.Stdout = out
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", filepath.Base(program), err)
	}
	h.rig.processes = append(h.rig.processes, p)
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // whoever misses it looks at its log
	}()
	return p, nil
}
