package control

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/teammem/teammemd/api"
)

// Lease is proof that this process holds a lock. The operating system lets go of
// the lock when the process ends, however it ends, or when the lease is no longer
// referenced: keep it.
type Lease struct {
	path string
	lock *flock.Flock
	once sync.Once
	err  error
}

// lockTries bounds how often a lock is taken anew because its file was removed
// in between.
const lockTries = 10

// Lock takes the lock file at path without waiting, and creates it and its
// directory, private to the user. It wraps [api.ErrAlreadyRunning], and names the
// holder's process id, when another process or another part of this one holds
// it. The id is information only: the lock is the file's, not the number's.
func Lock(path string) (*Lease, error) {
	if err := os.MkdirAll(filepath.Dir(path), privateDir); err != nil {
		return nil, fmt.Errorf("making the directory of lock %q: %w", path, err)
	}
	for range lockTries {
		lock := flock.New(path, flock.SetPermissions(privateFile))
		ok, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("taking lock %q: %w", path, err)
		}
		if !ok {
			return nil, heldBy(path)
		}
		if stillThere(lock, path) {
			// The number is a courtesy to the next one who asks.
			_ = os.WriteFile(pidFile(path), []byte(strconv.Itoa(os.Getpid())+"\n"), privateFile)
			return &Lease{path: path, lock: lock}, nil
		}
		_ = lock.Unlock()
	}
	return nil, fmt.Errorf("taking lock %q: %w", path, errLockVanishes)
}

var errLockVanishes = errors.New("the file is removed again and again")

// stillThere reports whether the locked file is the one that path names: a
// lock on a removed file keeps nobody out.
func stillThere(lock *flock.Flock, path string) bool {
	named, err := os.Stat(path)
	if err != nil {
		return false
	}
	held, err := lock.Stat()
	return err == nil && os.SameFile(named, held)
}

// Path returns the lock file.
func (l *Lease) Path() string { return l.path }

// Release lets go of the lock. The file stays: removing it would let two others
// hold two files of one name. Later calls return what the first returned.
func (l *Lease) Release() error {
	l.once.Do(func() {
		_ = os.Remove(pidFile(l.path))
		l.err = l.lock.Unlock()
	})
	return l.err
}

// pidFile stands beside the lock, since on some systems a locked file cannot be
// read by others.
func pidFile(path string) string { return path + ".pid" }

// The holder writes its number a moment after it took the lock: so long, and so
// often, it is looked for.
const (
	holderTries = 50
	holderPause = 10 * time.Millisecond
)

func heldBy(path string) error {
	for range holderTries {
		if pid := holder(path); pid > 0 {
			return fmt.Errorf("%w: process %d holds %s", api.ErrAlreadyRunning, pid, path)
		}
		<-time.After(holderPause)
	}
	return fmt.Errorf("%w: another process holds %s", api.ErrAlreadyRunning, path)
}

// holder returns the number that stands beside a lock, 0 for none, or for that of
// a process that is no more: one that was killed leaves it behind.
func holder(path string) int {
	text, err := os.ReadFile(pidFile(path))
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || convErr != nil || pid <= 0 || !alive(pid) {
		return 0
	}
	return pid
}
