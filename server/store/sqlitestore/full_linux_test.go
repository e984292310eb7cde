package sqlitestore_test

import (
	"os"
	"os/exec"
	"testing"
)

// TestFullFileSystem fills a file system of 4 MB, so that the write-ahead log
// is what finds no room.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	// A user namespace stands in for root's rights.
	args := []string{"--mount", "--map-root-user", "sh", "-c", `mount -t tmpfs -o size=4m tmpfs "$` + dirEnv + `" && exec "$0"`}
	if err := exec.CommandContext(t.Context(), "unshare", "--mount", "--map-root-user", "mount", "-t", "tmpfs", "tmpfs", dir).Run(); err != nil {
		t.Skipf("this machine allows no tmpfs in a mount namespace: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(args, self)...)
	cmd.Env = append(os.Environ(), childEnv+"=fill", dirEnv+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
