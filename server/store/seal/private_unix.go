//go:build !windows

package seal

import (
	"io/fs"
	"syscall"
)

// private reports whether nobody but its owner may touch a file, or, of a file of
// root's, its group read it.
func private(info fs.FileInfo) bool {
	others := info.Mode().Perm() & 0o077
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid == 0 {
		others &^= 0o040
	}
	return others == 0
}
