package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func exchange(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	err := renameat2(oldDir, oldName, newDir, newName, unix.RENAME_EXCHANGE)
	if lacksFlag(err) {
		return fmt.Errorf("%w: %w", ErrNoExchange, err)
	}
	return err
}

func renameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	err := renameat2(oldDir, oldName, newDir, newName, unix.RENAME_NOREPLACE)
	if lacksFlag(err) {
		return linkThenRemove(oldDir, oldName, newDir, newName)
	}
	return err
}

func renameat2(oldDir *os.File, oldName string, newDir *os.File, newName string, flag uint) error {
	for {
		err := unix.Renameat2(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName, flag)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lacksFlag reports whether a renameat2 was refused because of its flag.
func lacksFlag(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP)
}
