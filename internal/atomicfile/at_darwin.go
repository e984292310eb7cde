package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func exchange(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	err := unix.RenameatxNp(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName, unix.RENAME_SWAP)
	if lacksFlag(err) {
		return fmt.Errorf("%w: %w", ErrNoExchange, err)
	}
	return err
}

func renameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	err := unix.RenameatxNp(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName, unix.RENAME_EXCL)
	if lacksFlag(err) {
		return linkThenRemove(oldDir, oldName, newDir, newName)
	}
	return err
}

// lacksFlag reports whether a renameatx_np was refused because of its flag.
func lacksFlag(err error) bool {
	return errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.ENOTSUP)
}
