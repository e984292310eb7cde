package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

var replaceFile = windows.NewLazySystemDLL("kernel32.dll").NewProc("ReplaceFileW")

// SyncDir does nothing: Windows offers no flush of a directory, and journals
// names itself.
func SyncDir(*os.File) error { return nil }

// IsCrossDevice reports whether err says that two names are on different file
// systems.
func IsCrossDevice(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }

func exchange(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	old := filepath.Join(oldDir.Name(), oldName)
	backup := old + ".b"
	if err := callReplaceFile(filepath.Join(newDir.Name(), newName), old, backup); err != nil {
		return err
	}
	return os.Rename(backup, old)
}

func callReplaceFile(replaced, replacement, backup string) error {
	var paths [3]*uint16
	for i, path := range []string{replaced, replacement, backup} {
		wide, err := windows.UTF16PtrFromString(path)
		if err != nil {
			return err
		}
		paths[i] = wide
	}
	ok, _, err := replaceFile.Call(
		uintptr(unsafe.Pointer(paths[0])), uintptr(unsafe.Pointer(paths[1])),
		uintptr(unsafe.Pointer(paths[2])), 0, 0, 0,
	)
	if ok != 0 {
		return nil
	}
	var errno syscall.Errno
	if errors.As(err, &errno) && errno == windows.ERROR_NOT_SUPPORTED {
		return ErrNoExchange
	}
	return err
}

func renameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	from, err := windows.UTF16PtrFromString(filepath.Join(oldDir.Name(), oldName))
	if err != nil {
		return err
	}
	to, err := windows.UTF16PtrFromString(filepath.Join(newDir.Name(), newName))
	if err != nil {
		return err
	}
	// Without MOVEFILE_REPLACE_EXISTING a taken name is an error.
	return windows.MoveFileEx(from, to, windows.MOVEFILE_WRITE_THROUGH)
}

func move(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return os.Rename(filepath.Join(oldDir.Name(), oldName), filepath.Join(newDir.Name(), newName))
}
