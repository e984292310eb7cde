package seal

import "io/fs"

// private reports whether nobody but its owner may touch a file, which its mode
// does not say on Windows: the directory's own protection holds.
func private(fs.FileInfo) bool { return true }
