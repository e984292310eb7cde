//go:build unix

package memdir

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// nonblock keeps the opening of a named pipe, put in the place of a file, from
// waiting for a writer.
const nonblock = syscall.O_NONBLOCK

// openToSync is how a file is opened that is only to be forced to the disk.
const openToSync = os.O_RDONLY

// markOf returns the mark of a file and its number of names.
func markOf(info fs.FileInfo) (m mark, links uint64) {
	m = mark{size: info.Size(), mtime: info.ModTime().UnixNano(), ctime: info.ModTime().UnixNano()}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return m, 1
	}
	// Their widths differ from system to system.
	m.ctime = syscall.TimespecToNsec(ctimeOf(st))
	m.dev, m.ino = uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // see above
	return m, uint64(st.Nlink)                    //nolint:unconvert // see above
}

func identity(path string, info fs.FileInfo) (dev, ino uint64, err error) {
	m, _ := markOf(info)
	if m.ino == 0 {
		return 0, 0, fmt.Errorf("identity of %q: no inode", path)
	}
	return m.dev, m.ino, nil
}
