//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// namesOf returns how many names a file has on its file system, 0 where that is
// not known.
func namesOf(info fs.FileInfo) uint64 {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Nlink) //nolint:unconvert // its type differs between systems
}
