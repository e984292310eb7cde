package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gofrs/flock"
)

const (
	privateDir  = 0o700
	privateFile = 0o600
)

// writeFile replaces file durably: temporary file, fsync, rename, fsync of the
// directory. Readers see the old text or the new one, never a part.
func writeFile(file string, text []byte) (err error) {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, ".tmp-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), file); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename or a removal in dir durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // a directory cannot be opened for it, and need not be
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// locked runs change while this process alone holds the lock file. Nothing but
// a few small files is read and written meanwhile, so waiting has no deadline.
func locked(lockFile string, change func() error) error {
	if err := os.MkdirAll(filepath.Dir(lockFile), privateDir); err != nil {
		return err
	}
	lock := flock.New(lockFile, flock.SetPermissions(privateFile))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("locking %q: %w", lockFile, err)
	}
	return errors.Join(change(), lock.Unlock())
}
