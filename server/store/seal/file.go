package seal

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/teammem/teammemd/internal/atomicfile"
)

// maxFile bounds a key file, in bytes: some thousand keys.
const maxFile = 128 << 10

var (
	errOpen    = errors.New("others may read it: chmod 600")
	errNoFile  = errors.New("it is not a file of keys")
	errThere   = errors.New("there is a file already, and a key file is never written over")
	errAbsent  = errors.New("there is no such file")
	errNoPlace = errors.New("its directory does not exist")
)

// Load reads a key file. It refuses one that others may read: its mode must be
// 0600 or less, or 0640 or less where it is root's, as systemd and Kubernetes lend
// secrets to a group.
func Load(path string) (*Keys, error) {
	text, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key file %q: %w", path, err)
	}
	defer clear(text)
	keys, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the key file %q: %w", path, err)
	}
	return keys, nil
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errAbsent
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, errNoFile
	case !private(info):
		return nil, errOpen
	}
	return os.ReadFile(path)
}

// NewFile makes a key file with one new key and mode 0600, and returns the key's
// name. It never writes over a file.
func NewFile(path string) (name string, err error) {
	dir, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoPlace
	}
	if err != nil {
		return "", fmt.Errorf("making the key file %q: %w", path, err)
	}
	defer dir.Close()
	name, line := newLine()
	defer clear(line)
	// A name of its own until it is whole: a crash leaves no half key.
	temp := filepath.Join(filepath.Dir(path), ".key-"+rand.Text())
	if err := atomicfile.WriteFile(temp, line, 0o600); err != nil {
		return "", fmt.Errorf("making the key file %q: %w", path, err)
	}
	err = atomicfile.RenameNoReplace(dir, filepath.Base(temp), dir, filepath.Base(path))
	if err == nil {
		err = atomicfile.SyncDir(dir)
	} else {
		_ = os.Remove(temp)
	}
	if errors.Is(err, fs.ErrExist) {
		err = errThere
	}
	if err != nil {
		return "", fmt.Errorf("making the key file %q: %w", path, err)
	}
	return name, nil
}

// AddToFile puts a new key before those of a key file, so that it is the one that
// wraps, and returns its name. What the file had stays as it was.
func AddToFile(path string) (name string, err error) {
	text, err := read(path)
	if err != nil {
		return "", fmt.Errorf("changing the key file %q: %w", path, err)
	}
	defer clear(text)
	if _, err := Parse(text); err != nil {
		return "", fmt.Errorf("changing the key file %q: %w", path, err)
	}
	name, line := newLine()
	whole := append(line, text...)
	defer clear(whole)
	if _, err := Parse(whole); err != nil { // the name is taken, once in a billion
		return "", fmt.Errorf("changing the key file %q: %w", path, err)
	}
	if err := atomicfile.WriteFile(path, whole, 0o600); err != nil {
		return "", fmt.Errorf("changing the key file %q: %w", path, err)
	}
	return name, nil
}

// newLine makes a key, named after the day and some random letters so that two
// installations' keys are told apart.
func newLine() (name string, line []byte) {
	raw := make([]byte, KeyBytes)
	defer clear(raw)
	_, _ = rand.Read(raw) // never fails
	name = time.Now().UTC().Format("20060102") + "-" + strings.ToLower(rand.Text()[:6])
	line = append([]byte(name), ' ')
	line = base64.StdEncoding.AppendEncode(line, raw)
	return name, append(line, '\n')
}
