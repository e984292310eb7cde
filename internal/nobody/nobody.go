//go:build unix

// Package nobody runs a test again as a user whom file permissions bind: tests
// that run as root cannot see what an unreadable file does. For tests alone.
package nobody

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// id is the user and group without privileges on every Unix that we test on.
const id = 65534

// Runs reports whether the caller has to go on by itself. For root it runs the
// calling test again as another user, takes over that run's outcome, and returns
// false.
func Runs(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("", "as-nobody-") //nolint:usetesting // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, scratch := filepath.Join(dir, "test"), filepath.Join(dir, "tmp")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(program, text, 0o755), os.Chmod(dir, 0o755), os.Mkdir(scratch, 0o700), os.Chown(scratch, id, id))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + scratch}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
	return false
}
