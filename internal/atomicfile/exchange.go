package atomicfile

import (
	"errors"
	"os"
)

// ErrNoExchange says that the file system, or the operating system, cannot
// exchange two names in one step.
var ErrNoExchange = errors.New("file system cannot exchange two names")

// Exchange swaps what two names mean, in one step: at no moment is either name
// absent. Both must exist, on one file system; links are not followed. Names
// are single segments inside the open directories. It is durable once both
// directories were synced.
//
// It returns an error that matches [ErrNoExchange] where there is no exchange,
// fs.ErrNotExist when a name is absent; see also [IsCrossDevice].
//
// Linux: renameat2(RENAME_EXCHANGE). macOS: renameatx_np(RENAME_SWAP). Windows:
// ReplaceFile with a backup beside the first name, "<name>.b", which is then
// renamed to it: a crash between the two leaves the backup.
func Exchange(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	if err := exchange(oldDir, oldName, newDir, newName); err != nil {
		return &os.LinkError{Op: "exchange", Old: oldName, New: newName, Err: err}
	}
	return nil
}

// RenameNoReplace moves a name, and fails with an error that matches
// fs.ErrExist when the new name is taken, by anything. Links are not followed.
// Where the file system has no such rename it makes a hard link and removes the
// old name, which is as safe but not one step: a crash in between leaves both.
func RenameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	if err := renameNoReplace(oldDir, oldName, newDir, newName); err != nil {
		return &os.LinkError{Op: "rename without replacing", Old: oldName, New: newName, Err: err}
	}
	return nil
}

// Move renames as os.Rename does, replacing what has the new name, between open
// directories. Links are not followed.
func Move(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	if err := move(oldDir, oldName, newDir, newName); err != nil {
		return &os.LinkError{Op: "rename", Old: oldName, New: newName, Err: err}
	}
	return nil
}
