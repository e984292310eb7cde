package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/internal/atomicfile"
)

// Backup writes a copy of the database to a file, as it is at one moment,
// while others go on reading and writing. The copy is a database of one file,
// readable by its owner alone, and holds nothing of what was deleted. It takes
// the place of an earlier file of that name when it is whole and on the disk.
// Until then the log cannot be folded in, and grows with what is written.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := s.backup(ctx, path); err != nil {
		return fmt.Errorf("backing up to %q: %w", path, err)
	}
	return nil
}

func (s *Store) backup(ctx context.Context, path string) (err error) {
	same, err := isSame(path, s.path)
	if err == nil && same {
		err = errors.New("that is the database itself; name another file")
	}
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := file.Close(); err != nil {
		return err
	}
	if err := s.readConn(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &sqlitex.ExecOptions{Args: []any{file.Name()}})
	}); err != nil {
		return err
	}
	if err := atomicfile.SyncPath(file.Name()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return err
	}
	return atomicfile.SyncPath(filepath.Dir(path))
}

// isSame reports whether two names are one file. One that is not there is none.
func isSame(a, b string) (bool, error) {
	first, err := os.Stat(a)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	second, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(first, second), err
}
