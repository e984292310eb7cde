package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// HasWriter reports whether any process has the file open for writing, or
// mapped so. The file must be open read-only and belong to the caller. It
// returns an error that matches [errors.ErrUnsupported] where nobody can tell.
//
// Linux grants a read lease only on a file that no one has open for writing;
// the lease is given back at once.
func HasWriter(f *os.File) (bool, error) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w: asking for writers: %w", errors.ErrUnsupported, err)
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
		return false, fmt.Errorf("returning a lease: %w", err)
	}
	return false, nil
}
