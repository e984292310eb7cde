//go:build !unix

package control

import "os"

// ownedByUs cannot be told here; directories under the user's profile inherit
// its access list.
func ownedByUs(os.FileInfo) bool { return true }

// alive reports whether there is a process of that number.
func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = process.Release()
	return true
}
