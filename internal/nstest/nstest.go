//go:build linux

// Package nstest gives a test a user and a mount namespace of its own, in which
// it may mount and set limits without anybody else seeing it, and small disks to
// run full there. Where the kernel refuses that, the test says SKIP. For tests
// alone.
//
//	if !nstest.Inside(t) {
//		return
//	}
//	dir := t.TempDir()
//	nstest.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=1m")
//	free := nstest.Fill(t, dir)
package nstest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// inside is the environment variable that names the test whose second run a
// process is.
const inside = "TEAMMEMD_TEST_NAMESPACE"

// Attributes start a process as root of a user namespace of its own, with its own
// view of what is mounted.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
}

// Inside runs the calling test again in namespaces of its own, and reports whether
// this is that second run. The first one takes over its outcome.
func Inside(t *testing.T) bool {
	t.Helper()
	return inNamespace(t, Attributes())
}

// InsideWith is [Inside] where processes can also run as another user and group.
// Only root may say that there is one: as anybody else the test says SKIP.
func InsideWith(t *testing.T, uid, gid int) bool {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIP: only root can bring another user into a namespace")
	}
	as := Attributes()
	as.GidMappingsEnableSetgroups = true
	as.UidMappings = append(as.UidMappings, syscall.SysProcIDMap{ContainerID: uid, HostID: uid, Size: 1})
	as.GidMappings = append(as.GidMappings, syscall.SysProcIDMap{ContainerID: gid, HostID: gid, Size: 1})
	return inNamespace(t, as)
}

func inNamespace(t *testing.T, as *syscall.SysProcAttr) bool {
	t.Helper()
	if os.Getenv(inside) == t.Name() {
		return true
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
	cmd := exec.CommandContext(t.Context(), self, "-test.run="+pattern, "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), inside+"="+t.Name(), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = as
	out, err := cmd.CombinedOutput()
	_, ran := errors.AsType[*exec.ExitError](err)
	switch {
	case err != nil && !ran:
		t.Skipf("SKIP: no user namespaces here: %v", err)
	case err != nil:
		t.Fatalf("in a namespace: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("SKIP: in a namespace: %s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()):
		t.Fatalf("in a namespace nothing ran:\n%s", out)
	}
	return false
}

// Mount mounts until the test ends. The arguments are those of mount(2).
func Mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount(source, target, kind, flags, data); err != nil {
		t.Skipf("SKIP: mounting %q: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(target, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// Fill leaves no byte free on the file system of a directory, and returns what
// makes room again. Filled once more, it has no room again either.
func Fill(t *testing.T, dir string) (free func()) {
	t.Helper()
	filler := filepath.Join(dir, "filler")
	f, err := os.OpenFile(filler, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for block := 1 << 16; block > 0; {
		if _, err := f.Write(make([]byte, block)); errors.Is(err, syscall.ENOSPC) {
			block /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}
