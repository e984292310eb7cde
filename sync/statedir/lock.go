package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/teammem/teammemd/api"
)

// Lock is an advisory lock on a file, held until released or until the process
// ends, however it ends.
type Lock struct {
	file *flock.Flock
	pid  string
}

// LockFile takes the lock on the file at path, creating it when absent, and
// does not wait: [api.ErrAlreadyRunning] names the holder. The holder's process
// id stands in "<path>.pid" and is information only; the kernel's lock decides.
func LockFile(path string) (*Lock, error) { return lockFile(path, path+".pid") }

func lockFile(path, pidPath string) (*Lock, error) {
	file := flock.New(path, flock.SetPermissions(fileMode))
	locked, err := file.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %q: %w", path, err)
	}
	if !locked {
		return nil, fmt.Errorf("%w: %q is locked by %s", api.ErrAlreadyRunning, path, holder(pidPath))
	}
	pid := strconv.Itoa(os.Getpid()) + "\n"
	if err := os.WriteFile(pidPath, []byte(pid), fileMode); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %q: %w", path, err), file.Unlock())
	}
	return &Lock{file: file, pid: pidPath}, nil
}

// holder describes the process that holds a lock, as well as can be known.
func holder(pidPath string) string {
	text, err := os.ReadFile(pidPath)
	if err != nil {
		return "another process"
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}

// Release gives the lock back. The lock's file stays: removing it would let two
// processes hold locks on two files of one name.
func (l *Lock) Release() error {
	err := os.Remove(l.pid)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, l.file.Unlock())
}

// Lock makes this process the only writer, without waiting, and removes what a
// writer that died left half written. A second call on a locked Dir does nothing.
// [api.ErrAlreadyRunning] names the holder.
func (d *Dir) Lock() error {
	if d.lock != nil {
		return nil
	}
	lock, err := lockFile(filepath.Join(d.path, "lock"), filepath.Join(d.path, "pid"))
	if err != nil {
		return err
	}
	if err := d.sweepUnfinished(); err != nil {
		return errors.Join(err, lock.Release())
	}
	d.lock = lock
	return nil
}

// sweepUnfinished removes temporary files. Those of the journal are a dead writer's
// whatever their age, since only the holder of the lock makes any; the others may
// be at work for an hour.
func (d *Dir) sweepUnfinished() error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("sweeping state %q: %w", d.path, err)
	}
	journal, before := "."+filepath.Base(d.journal.path)+".", time.Now().Add(-time.Hour)
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".tmp") {
			continue
		}
		if info, err := entry.Info(); err != nil || !strings.HasPrefix(name, journal) && info.ModTime().After(before) {
			continue
		}
		if err := os.Remove(filepath.Join(d.path, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sweeping state %q: %w", d.path, err)
		}
	}
	return nil
}
