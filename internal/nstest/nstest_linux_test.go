package nstest_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/internal/nstest"
)

// TestSmallDisk fills a small disk, twice, and makes room again. It stands below
// another test, which the second run has to find.
func TestSmallDisk(t *testing.T) {
	t.Parallel()
	t.Run("filled", func(t *testing.T) {
		t.Parallel()
		if !nstest.Inside(t) {
			return
		}
		dir := t.TempDir()
		nstest.Mount(t, "tmpfs", dir, "tmpfs", 0, "size=64k")
		write := func(name string) error { return os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o600) }
		if err := write("room"); err != nil {
			t.Fatal(err)
		}
		nstest.Fill(t, dir)
		if err := os.Remove(filepath.Join(dir, "room")); err != nil {
			t.Fatal(err)
		}
		free := nstest.Fill(t, dir)
		if err := write("full"); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("writing to a full disk: %v, want ENOSPC", err)
		}
		free()
		if err := write("free"); err != nil {
			t.Errorf("writing where there is room again: %v", err)
		}
	})
}
