//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SyncDir makes the names in an open directory durable.
func SyncDir(dir *os.File) error {
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("syncing directory: %w", err)
	}
	return nil
}

// IsCrossDevice reports whether err says that two names are on different file
// systems.
func IsCrossDevice(err error) bool { return errors.Is(err, unix.EXDEV) }

func linkThenRemove(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	if err := unix.Linkat(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName, 0); err != nil {
		return err
	}
	return unix.Unlinkat(int(oldDir.Fd()), oldName, 0)
}

func move(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return unix.Renameat(int(oldDir.Fd()), oldName, int(newDir.Fd()), newName)
}
