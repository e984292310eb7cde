package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/atomicfile"
)

// errChanged says that a file is no longer what was read.
var errChanged = errors.New("the file has changed meanwhile, nothing was done")

// replaceText puts another text into a file that still holds the one that was
// read, and keeps its permissions. Behind a link it is the file itself: a new file
// in the link's place would leave the value where it was. For the same reason a
// file with several names is left alone, and one that may not be written to.
func replaceText(file, read, text string) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o200 == 0 {
		return withHint(fmt.Errorf("%w: the file is read-only", api.ErrUsage), "let your user write to it, and try again")
	}
	if n := namesOf(info); n > 1 {
		return withHint(fmt.Errorf("%w: the file has %d names, under the others the value would stay", api.ErrUsage, n), "make it a file of its own, or take the value out by hand")
	}
	now, err := readRegular(file)
	if err != nil {
		return err
	}
	if now != read {
		return withHint(errChanged, "try again")
	}
	err = exchangeText(file, read, text, info.Mode().Perm())
	if errors.Is(err, atomicfile.ErrNoExchange) {
		return atomicfile.WriteFile(file, []byte(text), info.Mode().Perm())
	}
	return err
}

// exchangeText puts text in the place of what was read, looks at what it displaced,
// and puts that back where it was something else: a save of this very moment is not
// lost. The file with the value is gone when it returns nil.
func exchangeText(file, read, text string, perm os.FileMode) (err error) {
	dir, name := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	temp := "." + name + "." + rand.Text()[:12] + ".tmp"
	path := filepath.Join(dir, temp)
	defer func() {
		if gone := os.Remove(path); gone != nil && !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := atomicfile.WriteFile(path, []byte(text), perm); err != nil {
		return err
	}
	if err := atomicfile.Exchange(folder, temp, folder, name); err != nil {
		return err
	}
	displaced, err := readRegular(path)
	if err == nil && displaced == read {
		return errors.Join(os.Remove(path), atomicfile.SyncDir(folder))
	}
	back := atomicfile.Exchange(folder, temp, folder, name)
	return errors.Join(withHint(errChanged, "try again"), err, back)
}
