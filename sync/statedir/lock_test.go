package statedir_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/statedir"
)

func TestLock(t *testing.T) {
	first := open(t, t.TempDir())
	for range 2 {
		if err := first.Lock(); err != nil {
			t.Fatal(err)
		}
	}
	second := open(t, first.Path())
	err := second.Lock()
	if !errors.Is(err, api.ErrAlreadyRunning) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Lock(); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}

// What a writer left half written goes with the next writer's lock, and not
// while another one has it.
func TestF11LockSweepsUnfinished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state [1]")
	first := open(t, path)
	if err := first.Lock(); err != nil {
		t.Fatal(err)
	}
	left, old, young := filepath.Join(path, ".journal.ABCDEFGH2345.tmp"), filepath.Join(path, ".notices.OLD.tmp"), filepath.Join(path, ".notices.YOUNG.tmp")
	for _, name := range []string{left, old, young, filepath.Join(path, "journal.tmp")} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hours := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, hours, hours); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Lock(); !errors.Is(err, api.ErrAlreadyRunning) {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Errorf("swept while another one writes: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path).Lock(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{left, old} {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left behind: %s, %v", name, err)
		}
	}
	for _, name := range []string{young, filepath.Join(path, "journal.tmp")} {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("a file that may be at work, or is none of its own, is gone: %v", err)
		}
	}
}

func TestLockWithoutAPid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	lock, err := statedir.LockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "not a number"} {
		if err := os.WriteFile(path+".pid", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := statedir.LockFile(path); !errors.Is(err, api.ErrAlreadyRunning) {
			t.Errorf("with the pid %q: %v", text, err)
		}
	}
	if err := os.Remove(path + ".pid"); err != nil {
		t.Fatal(err)
	}
	if _, err := statedir.LockFile(path); !errors.Is(err, api.ErrAlreadyRunning) {
		t.Errorf("without a pid: %v", err)
	}
	if err := lock.Release(); err != nil {
		t.Errorf("releasing: %v", err)
	}
}

const lockedDir = "TEAMMEMD_TEST_LOCKED_DIR"

// TestLockDiesWithItsHolder: a killed process leaves no lock behind.
func TestLockDiesWithItsHolder(t *testing.T) {
	if dir := os.Getenv(lockedDir); dir != "" {
		if err := open(t, dir).Lock(); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(os.Stderr, "locked")
		select {}
	}
	d := open(t, t.TempDir())
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLockDiesWithItsHolder$")
	cmd.Env = append(os.Environ(), lockedDir+"="+d.Path())
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := said.Read(make([]byte, 16)); err != nil {
		t.Fatal(err)
	}
	err = d.Lock()
	if !errors.Is(err, api.ErrAlreadyRunning) || !strings.Contains(err.Error(), fmt.Sprintf("process %d", cmd.Process.Pid)) {
		t.Errorf("while it lives: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if err := d.Lock(); err != nil {
		t.Errorf("after it was killed: %v", err)
	}
}
