package watcher

import (
	"encoding/binary"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
)

// signature sums up what a cheap look at a tree shows: names, types, sizes and
// times, without following links. What cannot be read is left out, as it will
// be by whoever scans. The error says that the root itself cannot be read.
func signature(root string) (uint64, error) {
	hash := fnv.New64a()
	var numbers [24]byte
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if path == root {
			return err
		}
		if err != nil {
			return nil
		}
		if noise(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		size, modified := info.Size(), info.ModTime().UnixNano()
		if d.IsDir() {
			// Noise changes these two of its directory.
			size, modified = 0, 0
		}
		hash.Write([]byte(path))
		binary.LittleEndian.PutUint64(numbers[0:], uint64(size))
		binary.LittleEndian.PutUint64(numbers[8:], uint64(modified))
		binary.LittleEndian.PutUint64(numbers[16:], uint64(info.Mode()))
		hash.Write(numbers[:])
		return nil
	})
	return hash.Sum64(), err
}

// nearest returns the deepest existing directory above path, links resolved,
// and the name in it that leads on to path.
func nearest(path string) (dir, next string) {
	for at := path; ; at = filepath.Dir(at) {
		above := filepath.Dir(at)
		if real, err := filepath.EvalSymlinks(above); err == nil {
			if st, err := os.Stat(real); err == nil && st.IsDir() {
				return real, filepath.Base(at)
			}
		}
		if above == filepath.Dir(above) {
			return above, filepath.Base(at)
		}
	}
}
