package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// nonblock has no meaning here: there are no named pipes in directories.
const nonblock = 0

// openToSync is how a file is opened that is only to be forced to the disk: the
// system asks for the right to write.
const openToSync = os.O_RDWR

// markOf returns the mark of a file. Device, inode and the number of names need
// an open handle here and are left out.
func markOf(info fs.FileInfo) (m mark, links uint64) {
	modified := info.ModTime().UnixNano()
	return mark{size: info.Size(), mtime: modified, ctime: modified}, 1
}

func identity(path string, _ fs.FileInfo) (dev, ino uint64, err error) {
	dir, err := os.Open(path)
	if err != nil {
		return 0, 0, fmt.Errorf("identity of %q: %w", path, err)
	}
	var info windows.ByHandleFileInformation
	err = windows.GetFileInformationByHandle(windows.Handle(dir.Fd()), &info)
	if err = errors.Join(err, dir.Close()); err != nil {
		return 0, 0, fmt.Errorf("identity of %q: %w", path, err)
	}
	return uint64(info.VolumeSerialNumber), uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow), nil
}
