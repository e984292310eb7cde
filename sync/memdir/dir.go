package memdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/teammem/teammemd/api"
)

// dir is an open directory inside the tree, reached without following any link
// below the root. It is counted: every holder calls release.
type dir struct {
	path string // relative to the root of the tree, as on disk; "" for it
	root *os.Root
	file *os.File // the same directory, for listing, exchange and fsync
	refs atomic.Int32
}

// newDir owns root, also when it fails.
func newDir(root *os.Root) (*dir, error) {
	file, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	d := &dir{root: root, file: file}
	d.refs.Store(1)
	return d, nil
}

func (d *dir) retain() *dir {
	d.refs.Add(1)
	return d
}

func (d *dir) release() {
	if d.refs.Add(-1) > 0 {
		return
	}
	// Nothing was written through these handles that a close could lose.
	_ = d.file.Close()
	_ = d.root.Close()
}

// sub opens a directory of d, and refuses a link. The check after the opening
// catches a link that was put in place between the two.
func (d *dir) sub(name string) (*dir, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, notDirectory(before)
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	child, err := newDir(root)
	if err != nil {
		return nil, err
	}
	after, err := child.file.Stat()
	if err != nil || !os.SameFile(before, after) {
		child.release()
		return nil, errors.Join(api.ErrUnsettled, err)
	}
	child.path = path.Join(d.path, name)
	return child, nil
}

func notDirectory(info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return &api.HeldError{Reason: api.HeldLink, Detail: "a directory on the way is a symbolic link"}
	}
	return &api.HeldError{Reason: api.HeldBadName, Detail: "a file is in the place of a directory"}
}

// walk opens the directory at rel below d, "" for d itself, by segments of keys.
// With made not nil missing ones are created, and each directory that gained
// one, and so has to be synced, is passed to it.
func (d *dir) walk(rel string, made func(*dir)) (*dir, error) {
	at := d.retain()
	if rel == "" {
		return at, nil
	}
	for segment := range strings.SplitSeq(rel, "/") {
		next, err := at.step(segment, made)
		at.release()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// onDisk opens the directory at a path below d, by the names that a listing
// gave.
func (d *dir) onDisk(rel string) (*dir, error) {
	at := d.retain()
	if rel == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := at.sub(name)
		at.release()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func (d *dir) step(segment string, made func(*dir)) (*dir, error) {
	name, err := d.spelling(segment)
	if err != nil {
		return nil, err
	}
	child, err := d.sub(name)
	if !errors.Is(err, fs.ErrNotExist) || made == nil {
		return child, err
	}
	// As an editor would: the umask decides who else may read.
	if err := d.root.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("creating directory: %w", err)
	}
	made(d)
	return d.sub(name)
}

// spelling returns the name on disk of a key's segment: usually itself, but on
// file systems that keep bytes as they are it may be there in another Unicode
// normal form.
func (d *dir) spelling(segment string) (string, error) {
	if isASCII(segment) {
		return segment, nil
	}
	_, err := d.root.Lstat(segment)
	if !errors.Is(err, fs.ErrNotExist) {
		return segment, err
	}
	entries, err := d.list()
	if err != nil {
		return "", err
	}
	found := ""
	for _, entry := range entries {
		name := entry.Name()
		if norm.NFC.String(name) == segment && (found == "" || name < found) {
			found = name
		}
	}
	if found == "" {
		return segment, nil
	}
	return found, nil
}

// list reads the directory from its start.
func (d *dir) list() ([]fs.DirEntry, error) {
	if _, err := d.file.Seek(0, 0); err != nil {
		return nil, err
	}
	return d.file.ReadDir(-1)
}

// twin returns a name in d that is another spelling of name to a file system
// without case, and whether name itself is listed.
func (d *dir) twin(name string) (other string, exact bool, err error) {
	entries, err := d.list()
	if err != nil {
		return "", false, err
	}
	fold := foldName(name)
	for _, entry := range entries {
		if entry.Name() == name {
			return "", true, nil
		}
		if foldName(entry.Name()) == fold {
			other = entry.Name()
		}
	}
	return other, false, nil
}

func foldName(name string) string {
	key, _ := keyOf(name)
	return key.Fold()
}

func isASCII(s string) bool {
	return !slices.ContainsFunc([]byte(s), func(c byte) bool { return c >= utf8.RuneSelf })
}

// splitKey returns the directory ("" for the root) and the name of a path.
func splitKey(rel string) (parent, name string) {
	parent, name = path.Split(rel)
	return strings.TrimSuffix(parent, "/"), name
}
