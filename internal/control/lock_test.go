package control_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
)

const holdEnv = "TEAMMEMD_TEST_HOLD"

// TestMain lets the test binary be the other process that holds a lock.
func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		lease, err := control.Lock(path)
		fmt.Fprintln(os.Stdout, "held", err)
		_, _ = os.Stdin.Read(make([]byte, 1))
		runtime.KeepAlive(lease)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSecondLockIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "daemon.lock")
	first, err := control.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = control.Lock(path)
	if !errors.Is(err, api.ErrAlreadyRunning) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("got %v", err)
	}
	if err := errors.Join(first.Release(), first.Release()); err != nil {
		t.Error(err)
	}
	again, err := control.Lock(path)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	if again.Path() != path {
		t.Errorf("path %s", again.Path())
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestLockDiesWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "held <nil>\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	_, err = control.Lock(path)
	if !errors.Is(err, api.ErrAlreadyRunning) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", cmd.Process.Pid)) {
		t.Errorf("got %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	lease, err := control.Lock(path)
	if err != nil {
		t.Fatalf("after the other process was killed: %v", err)
	}
	if err := lease.Release(); err != nil {
		t.Error(err)
	}
}

func TestOneOfManyHoldsTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	var wg sync.WaitGroup
	var held, refused atomic.Int32
	leases := make([]*control.Lease, 20)
	for i := range leases {
		wg.Go(func() {
			lease, err := control.Lock(path)
			leases[i] = lease
			switch {
			case err == nil:
				held.Add(1)
			case errors.Is(err, api.ErrAlreadyRunning):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	runtime.KeepAlive(leases)
	if held.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d hold it, %d were refused", held.Load(), refused.Load())
	}
}

func TestLockWithoutADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.Lock(filepath.Join(file, "lock")); err == nil || errors.Is(err, api.ErrAlreadyRunning) {
		t.Errorf("got %v", err)
	}
}

// What a killed holder leaves behind names nobody: the one who has the lock now
// writes its own number in a moment.
func TestF20HolderIsNamedOnceItIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.lock")
	lease, err := control.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lease.Release() }()
	ended := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	write := func(pid int) {
		t.Helper()
		if err := os.WriteFile(path+".pid", []byte(strconv.Itoa(pid)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(ended.Process.Pid)
	told := make(chan error, 1)
	go func() { _, err := control.Lock(path); told <- err }()
	write(os.Getpid())
	if err := <-told; !errors.Is(err, api.ErrAlreadyRunning) || !strings.Contains(err.Error(), fmt.Sprintf("process %d ", os.Getpid())) {
		t.Errorf("the second: %v", err)
	}
	write(ended.Process.Pid)
	if _, err := control.Lock(path); !errors.Is(err, api.ErrAlreadyRunning) || strings.Contains(err.Error(), strconv.Itoa(ended.Process.Pid)) {
		t.Errorf("with the number of a dead one: %v", err)
	}
}
