package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

const (
	dirMode  os.FileMode = 0o700
	fileMode os.FileMode = 0o600
)

// Dir is the state of one root. One goroutine uses it at a time; of several
// processes only the holder of [Dir.Lock] may write, others may read.
type Dir struct {
	path    string
	journal journal
	lock    *Lock
	// redacted is what [Dir.Purge] was told, nil until it was read.
	redacted map[api.Checksum]bool
}

// Open prepares the directory at path, creating it when absent. It reads
// nothing yet: the first Load or Commit does.
func Open(path string) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening state directory: %w", err)
	}
	if err := ensureDir(path); err != nil {
		return nil, fmt.Errorf("opening state directory: %w", err)
	}
	return &Dir{path: path, journal: journal{path: filepath.Join(path, "journal")}}, nil
}

// ensureDir creates a private directory, durably, or makes an existing one
// private.
func ensureDir(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeDir(path)
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%q is not a directory", path)
	}
	if info.Mode().Perm()&^dirMode == 0 {
		return nil
	}
	return os.Chmod(path, dirMode)
}

func makeDir(path string) error {
	parent := filepath.Dir(path)
	if _, err := os.Stat(parent); errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return atomicfile.SyncPath(parent)
}

// Path returns the directory's absolute path.
func (d *Dir) Path() string { return d.path }

// Staging returns the path of the directory that package memdir may use for
// files on their way into the tree. It may not exist yet.
func (d *Dir) Staging() string { return filepath.Join(d.path, "staging") }

// Close gives the lock back and closes the journal. The Dir is unusable
// afterwards.
func (d *Dir) Close() error {
	err := d.journal.close()
	if d.lock == nil {
		return err
	}
	lock := d.lock
	d.lock = nil
	if lockErr := lock.Release(); err == nil {
		err = lockErr
	}
	return err
}
