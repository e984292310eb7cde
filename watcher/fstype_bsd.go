//go:build darwin || freebsd

package watcher

import (
	"strings"

	"golang.org/x/sys/unix"
)

// filesPerWatch bounds a root here: kqueue holds a descriptor for every file.
const filesPerWatch = 2000

// eventSupport returns the file system's name and what it delivers. One that
// cannot be asked is taken for a usual one.
func eventSupport(dir string) (string, support) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", fullEvents
	}
	name := unix.ByteSliceToString(st.Fstypename[:])
	for _, remote := range []string{"nfs", "smbfs", "afpfs", "webdav", "ftp", "fuse", "fusefs", "macfuse", "osxfuse", "9p", "p9fs"} {
		if strings.EqualFold(name, remote) {
			return name, noEvents
		}
	}
	return name, fullEvents
}
