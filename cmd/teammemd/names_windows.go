package main

import "io/fs"

// namesOf returns how many names a file has on its file system, 0 where that is
// not known, as here.
func namesOf(fs.FileInfo) uint64 { return 0 }
