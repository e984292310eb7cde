package bench

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// noteKey names a file that is measured with.
func noteKey(i int) string { return fmt.Sprintf("note-%04d.md", i) }

// noteText is plain prose, of the same length for every word and file, so that an
// edit in place is one write.
func noteText(who string, i int) string {
	return fmt.Sprintf("# Note %04d\n\nA word about a plain thing, said by %-28s.\n", i, who)
}

// snapshot is the files of a directory at one time: slash path to text.
type snapshot map[string]string

func readBoth(dirs [2]string) (sides [2]snapshot, err error) {
	for i, dir := range dirs {
		if sides[i], err = takeSnapshot(dir); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// takeSnapshot reads what an agent would see: hidden files are none of that.
func takeSnapshot(dir string) (snapshot, error) {
	all := make(snapshot)
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return ignoreGone(err)
		case name != dir && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return ignoreGone(err)
		}
		rel, err := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the team directory: %w", err)
	}
	return all, nil
}

// ignoreGone forgives a file that was replaced while it was looked at.
func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// editBoth edits every file on both sides, in place and as close together as the
// machine can, and returns how long that took.
func editBoth(dirs [2]string, texts [2][]string) (took time.Duration, err error) {
	var files [2][]*os.File
	defer func() {
		for _, f := range slices.Concat(files[0], files[1]) {
			err = errors.Join(err, f.Close())
		}
	}()
	for side, dir := range dirs {
		for i := range texts[side] {
			f, err := os.OpenFile(filepath.Join(dir, noteKey(i)), os.O_WRONLY, 0)
			if err != nil {
				return 0, fmt.Errorf("opening a file to edit: %w", err)
			}
			files[side] = append(files[side], f)
		}
	}
	var ready, done sync.WaitGroup
	ready.Add(len(dirs))
	begun := make(chan struct{})
	var errs [2]error
	for side := range dirs {
		done.Go(func() {
			ready.Done()
			<-begun
			for i, f := range files[side] {
				if _, err := f.WriteAt([]byte(texts[side][i]), 0); err != nil {
					errs[side] = fmt.Errorf("editing: %w", err)
				}
			}
		})
	}
	ready.Wait()
	at := time.Now()
	close(begun)
	done.Wait()
	return time.Since(at), errors.Join(errs[:]...)
}

func writeAll(dir string, texts []string) error {
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, noteKey(i)), []byte(text), 0o600); err != nil {
			return fmt.Errorf("writing an edit: %w", err)
		}
	}
	return nil
}
