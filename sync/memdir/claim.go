package memdir

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/teammem/teammemd/api"
)

// Lock makes this process the only one that keeps the root in step, whatever
// path leads to it: a link, a bind mount, another configuration. The lock is an
// flock on the directory itself, so it goes with its device and inode, needs no
// file, and ends with the process. It does not wait: [api.ErrAlreadyRunning]
// names the holder. From then on every Snapshot makes sure that it still holds
// the directory that it reads, since a root may be replaced by another; a root
// that is missing now is claimed when it is back. Where the file system knows no
// such locks, as on Windows, it does nothing.
func (t *Tree) Lock() error {
	t.exclusive = true
	root, err := t.openRoot()
	if errors.Is(err, api.ErrRootMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.release()
	return t.claim(root)
}

// Close gives the lock back. The tree can be used again.
func (t *Tree) Close() error {
	t.exclusive = false
	if t.claimed == nil {
		return nil
	}
	err := t.claimed.Close()
	t.claimed = nil
	return err
}

// claim takes the lock of the directory that was opened, unless it is held.
func (t *Tree) claim(root *dir) error {
	if !t.exclusive || t.holds(root) {
		return nil
	}
	// A file of its own: the lock must outlive the handles that reads use.
	file, err := root.root.Open(".")
	if err != nil {
		return fmt.Errorf("locking team directory %q: %w", t.root, err)
	}
	err = lockDir(file)
	switch {
	case errors.Is(err, errLocked):
		return errors.Join(fmt.Errorf("%w: %q is kept in step by %s", api.ErrAlreadyRunning, t.root, holder(file)), file.Close())
	case errors.Is(err, errors.ErrUnsupported):
		t.log.DebugContext(context.Background(), "directory cannot be locked", "root", t.root)
	case err != nil:
		return errors.Join(fmt.Errorf("locking team directory %q: %w", t.root, err), file.Close())
	}
	if t.claimed != nil {
		_ = t.claimed.Close() // of a directory that is no root of ours any more
	}
	t.claimed = file
	return nil
}

// holds reports whether the lock is on this very directory.
func (t *Tree) holds(root *dir) bool {
	if t.claimed == nil {
		return false
	}
	mine, err1 := t.claimed.Stat()
	now, err2 := root.file.Stat()
	return err1 == nil && err2 == nil && os.SameFile(mine, now)
}

// errLocked says that another process has the lock.
var errLocked = errors.New("locked")
