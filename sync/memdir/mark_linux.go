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
	m.ctime = syscall.TimespecToNsec(st.Ctim)
	m.dev, m.ino = st.Dev, st.Ino
	return m, uint64(st.Nlink) //nolint:unconvert // 32 bits on arm64
}

func identity(path string, info fs.FileInfo) (dev, ino uint64, err error) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("identity of %q: no inode", path)
	}
	return st.Dev, st.Ino, nil
}
