package memdir_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

// readChild says where the file is that is read slowly, and by which method.
const (
	readBase = "TEAMMEMD_TEST_READ_BASE"
	readBy   = "TEAMMEMD_TEST_READ_BY"
)

// TestReadChild is the process that reads. It does nothing in an ordinary run.
func TestReadChild(t *testing.T) {
	base := os.Getenv(readBase)
	if base == "" {
		return
	}
	state, err := statedir.Open(filepath.Join(base, "state"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := memdir.Open(memdir.Options{
		Root: filepath.Join(base, "team"), Staging: state.Staging(), Save: state.Save,
		Clock: func() time.Time { return time.Now().Add(time.Minute) }, // each file is old
	})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(readBy) == "Load" {
		got, err := tree.Load(t.Context(), key(t, "a.md"), api.Reading{Settle: time.Second})
		switch {
		case errors.Is(err, api.ErrUnsettled):
			fmt.Println("RESULT refused")
		case err != nil:
			t.Fatal(err)
		default:
			fmt.Println("RESULT", got.Content)
		}
		return
	}
	snapshot, err := tree.Snapshot(t.Context(), api.Reading{Settle: time.Second})
	switch {
	case err != nil || len(snapshot.Files)+len(snapshot.Held) != 1:
		t.Fatalf("%+v, %v", snapshot, err)
	case len(snapshot.Held) == 1:
		fmt.Println("RESULT refused")
	case snapshot.Files[0].Sum == api.SumString(readBefore):
		fmt.Println("RESULT", readBefore)
	case snapshot.Files[0].Sum == api.SumString(readAfter):
		fmt.Println("RESULT", readAfter)
	}
}

// Two texts of one size.
const readBefore, readAfter = "what it was before", "what was saved now"

// TestChangedDuringTheRead saves a file between the first look at it and its
// reading, which the kernel is made to delay. That is told by the second look
// alone: nobody has the file open by then, its size is what it was, and what was
// read is younger than asked for, and may be half of a save.
func TestChangedDuringTheRead(t *testing.T) {
	requireStrace(t)
	t.Parallel()
	for name, save := range map[string]func(path string) error{
		"not saved": nil,
		"in place":  func(path string) error { return overwrite(path, readAfter) },
		"by a rename": func(path string) error {
			beside := filepath.Join(filepath.Dir(filepath.Dir(path)), "new")
			return errors.Join(os.WriteFile(beside, []byte(readAfter), 0o644), os.Rename(beside, path))
		},
	} {
		for _, by := range []string{"Load", "Snapshot"} {
			t.Run(by+" "+name, func(t *testing.T) {
				t.Parallel()
				want := "refused"
				if save == nil {
					want = readBefore
				}
				if got := readSlowly(t, by, save); got != want {
					t.Errorf("read %q, want %q", got, want)
				}
			})
		}
	}
}

// readSlowly returns what a process reads of a file that is saved in the midst.
func readSlowly(t *testing.T, by string, save func(path string) error) string {
	t.Helper()
	base := memoryDir(t)
	path, trace := filepath.Join(base, "team", "a.md"), filepath.Join(base, "trace")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(readBefore), 0o644)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", trace, "-P", path,
		"-e", "trace=read,fcntl", "-e", "inject=read:delay_enter=500000", os.Args[0], "-test.run=^TestReadChild$")
	cmd.Env = append(os.Environ(), readBase+"="+base, readBy+"="+by)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for save != nil {
		select {
		case err := <-ended:
			t.Fatalf("the file was never opened: %v\n%s", err, out.String())
		case <-tick.C:
		}
		// The lease is what is asked for last before the reading.
		if text, err := os.ReadFile(trace); err == nil && bytes.Contains(text, []byte("F_UNLCK")) {
			if err := save(path); err != nil {
				t.Error(err)
			}
			break
		}
	}
	if err := <-ended; err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	_, result, _ := strings.Cut(out.String(), "RESULT ")
	result, _, _ = strings.Cut(result, "\n")
	return result
}

// overwrite changes a file without truncating it.
func overwrite(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}
