package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stopWithin bounds how long a process may take to end when it is asked to.
const stopWithin = 20 * time.Second

// process is one that goes on until its rig is closed.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	log  string        // file of all that it says
}

// alive returns an error with the last words of a process that has ended.
func (p *process) alive() error {
	select {
	case <-p.done:
		text, _ := os.ReadFile(p.log)
		return fmt.Errorf("%s ended: %s", filepath.Base(p.cmd.Path), lastLine(string(text)))
	default:
		return nil
	}
}

// end asks the process to stop and waits for it; one that does not is killed.
func (p *process) end() {
	if askToStop(p.cmd.Process) != nil {
		_ = p.cmd.Process.Kill()
	}
	patience := time.NewTimer(stopWithin)
	defer patience.Stop()
	select {
	case <-p.done:
	case <-patience.C:
		_ = p.cmd.Process.Kill()
		<-p.done
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
