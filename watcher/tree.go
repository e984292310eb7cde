package watcher

import (
	"encoding/binary"
	"errors"
	"hash"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
)

// signature sums up what a cheap look at a tree shows: names, types, sizes and
// times, without following links. What cannot be read is left out, as it will
// be by whoever scans. The error says that the root itself cannot be read.
func signature(root string) (uint64, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return 0, err
	}
	sum := fnv.New64a()
	sign(sum, root, entries)
	return sum.Sum64(), nil
}

// sign adds the entries of dir and all below them.
func sign(sum hash.Hash64, dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		if noise(e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		size, modified := info.Size(), info.ModTime().UnixNano()
		if e.IsDir() {
			// Noise changes these two of its directory.
			size, modified = 0, 0
		}
		path := filepath.Join(dir, e.Name())
		var numbers [24]byte
		binary.LittleEndian.PutUint64(numbers[0:], uint64(size))
		binary.LittleEndian.PutUint64(numbers[8:], uint64(modified))
		binary.LittleEndian.PutUint64(numbers[16:], uint64(info.Mode()))
		sum.Write([]byte(path))
		sum.Write(numbers[:])
		if !e.IsDir() {
			continue
		}
		if below, err := os.ReadDir(path); err == nil {
			sign(sum, path, below)
		}
	}
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

// exceeds reports whether more than most files lie in and below dir, and looks
// no further than that.
func exceeds(dir string, most int) bool {
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // gone, or closed to us: nothing below it is watched
		case path == dir:
		case noise(e.Name()) && e.IsDir():
			return filepath.SkipDir
		case !noise(e.Name()) && !e.IsDir():
			files++
		}
		if files > most {
			return errTooMany
		}
		return nil
	})
	return errors.Is(err, errTooMany)
}
