package statedir_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/teammem/teammemd/api"
)

// TestF12FullDiskOfTheState: commits and saves fail while nothing fits, change nothing, and
// succeed again afterwards.
func TestF12FullDiskOfTheState(t *testing.T) {
	const inside = "TEAMMEMD_TEST_NAMESPACE"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestF12FullDiskOfTheState$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=yes", "GORACE=atexit_sleep_ms=0")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		}
		out, err := cmd.CombinedOutput()
		if _, ran := errors.AsType[*exec.ExitError](err); err != nil && !ran {
			t.Skipf("SKIP: no user namespaces here: %v", err)
		}
		if err != nil {
			t.Errorf("in a namespace: %v\n%s", err, out)
		}
		if strings.Contains(string(out), "--- SKIP") {
			t.Skipf("SKIP: in a namespace: %s", out)
		}
		return
	}
	path := t.TempDir()
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("SKIP: mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	d := open(t, path)
	want := api.Memory{Epoch: "e", Version: 1, Bases: map[api.Key]api.Base{key(t, "a.md"): base("one")}}
	commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: 1}, Bases: want.Bases})
	// Twice: the append fails first, then the replacement that follows it.
	for range 2 {
		fill(t, path)
		large := api.Record{Bases: map[api.Key]api.Base{key(t, "b.md"): base("two", strings.Split(strings.Repeat("r ", 300), " ")...)}}
		if err := d.Commit(t.Context(), large); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Commit: %v, want ENOSPC", err)
		}
		text := strings.Repeat("text ", 2000)
		if _, err := d.Save(t.Context(), api.SavedCopy{Key: key(t, "a.md"), Content: text, Sum: api.SumString(text)}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Save: %v, want ENOSPC", err)
		}
		if got := copies(t, d); len(got) != 0 {
			t.Errorf("copies %v", got)
		}
		wantMemory(t, d, want)
	}
	if err := os.Remove(filepath.Join(path, "filler")); err != nil {
		t.Fatal(err)
	}
	commit(t, d, api.Record{View: &api.Position{Epoch: "e", Version: 2}})
	want.Version = 2
	wantMemory(t, d, want)
}

// fill leaves less than a block free.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(dir, "filler"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
