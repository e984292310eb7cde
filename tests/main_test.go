package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// maxBinary is the most that the stripped program may weigh, in bytes.
const maxBinary = 35_000_000

// built is where the program is, removed when all tests are done.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "teammemd-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built = filepath.Join(dir, "teammemd")
	if runtime.GOOS == "windows" {
		built += ".exe"
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var build = sync.OnceValue(func() error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", built, "./cmd/teammemd")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the program: %w\n%s", err, out)
	}
	return nil
})

// program returns the path of the built binary, the same as a release's.
func program(t *testing.T) string {
	t.Helper()
	if err := build(); err != nil {
		t.Fatal(err)
	}
	return built
}

func TestBinarySize(t *testing.T) {
	t.Parallel()
	info, err := os.Stat(program(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinary {
		t.Errorf("the stripped binary has %d bytes, at most %d", info.Size(), maxBinary)
	}
	t.Logf("%d bytes", info.Size())
}
