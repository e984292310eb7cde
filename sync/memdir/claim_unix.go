//go:build unix

package memdir

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockDir takes an flock without waiting. [errLocked] when another process has
// it, errors.ErrUnsupported where the file system has none.
func lockDir(dir *os.File) error {
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errLocked
		case errors.Is(err, unix.EBADF), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOTSUP):
			return errors.ErrUnsupported // network file systems lock only what is open for writing
		}
		return err
	}
}
