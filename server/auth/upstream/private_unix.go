//go:build !windows

package upstream

import "io/fs"

// private reports whether nobody but its owner may touch a file.
func private(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
