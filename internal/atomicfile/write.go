package atomicfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces the file at path by data, or creates it, with exactly the
// permissions perm. When it returns nil the file is durable under its name. On
// an error the former content is intact and no temporary file is left, unless
// the process died: then a ".<name>.<random>.tmp" may remain.
//
// The system calls, in order:
//
//	openat(dir/.name.random.tmp, O_CREAT|O_EXCL|O_WRONLY)
//	fchmod, write, fsync, close
//	renameat(dir/.name.random.tmp, dir/name)
//	openat(dir), fsync, close
func WriteFile(path string, data []byte, perm os.FileMode) error {
	if err := Replace(path, data, perm); err != nil {
		return err
	}
	return SyncPath(filepath.Dir(path))
}

// Replace is [WriteFile] without the fsync of the directory: for several files
// of one directory, followed by one [SyncPath]. Until then a power loss may
// bring the former content back.
func Replace(path string, data []byte, perm os.FileMode) error {
	dir, name := filepath.Split(path)
	temp := filepath.Join(dir, "."+name+"."+rand.Text()[:12]+".tmp")
	if err := writeNew(temp, data, perm); err != nil {
		return fmt.Errorf("writing %q: %w", path, errors.Join(err, removeIfThere(temp)))
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("replacing %q: %w", path, errors.Join(err, removeIfThere(temp)))
	}
	return nil
}

func writeNew(path string, data []byte, perm os.FileMode) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = fill(f, data, perm)
	return errors.Join(err, f.Close())
}

func fill(f *os.File, data []byte, perm os.FileMode) error {
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Sync()
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// SyncPath makes the names in the directory at path durable.
func SyncPath(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening directory %q: %w", path, err)
	}
	err = SyncDir(dir)
	return errors.Join(err, dir.Close())
}
