package export

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
)

// folder is a directory of a commit. Only what changed is written anew.
type folder struct {
	files   map[string]plumbing.Hash
	folders map[string]*folder
	hash    plumbing.Hash // zero: to be written
}

func newFolder() *folder {
	return &folder{files: map[string]plumbing.Hash{}, folders: map[string]*folder{}}
}

// segments splits a key into names that git takes: it has no folder called .git.
func segments(key string) []string {
	names := strings.Split(key, "/")
	for i, name := range names {
		if strings.EqualFold(name, ".git") {
			names[i] = name + "_"
		}
	}
	return names
}

// set puts a file in place.
func (f *folder) set(names []string, blob plumbing.Hash) {
	f.hash = plumbing.ZeroHash
	if len(names) == 1 {
		f.files[names[0]] = blob
		return
	}
	below := f.folders[names[0]]
	if below == nil {
		below = newFolder()
		f.folders[names[0]] = below
	}
	below.set(names[1:], blob)
}

// remove takes a file away, and the folders that are empty then.
func (f *folder) remove(names []string) {
	f.hash = plumbing.ZeroHash
	if len(names) == 1 {
		delete(f.files, names[0])
		return
	}
	below := f.folders[names[0]]
	if below == nil {
		return
	}
	below.remove(names[1:])
	if len(below.files)+len(below.folders) == 0 {
		delete(f.folders, names[0])
	}
}

// store writes the folder and all below it that changed.
func (f *folder) store(to storer.EncodedObjectStorer) (plumbing.Hash, error) {
	if !f.hash.IsZero() {
		return f.hash, nil
	}
	type row struct {
		name, mode string
		hash       plumbing.Hash
	}
	var rows []row
	for name, blob := range f.files {
		rows = append(rows, row{name, modeFile, blob})
	}
	for name, below := range f.folders {
		hash, err := below.store(to)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		rows = append(rows, row{name, modeFolder, hash})
	}
	// Git sorts a folder as if its name ended with a slash.
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(slashed(a.name, a.mode), slashed(b.name, b.mode)) })
	var buf bytes.Buffer
	for _, r := range rows {
		buf.WriteString(r.mode + " " + r.name + "\x00")
		buf.Write(r.hash[:])
	}
	var err error
	f.hash, err = storeObject(to, plumbing.TreeObject, buf.Bytes())
	return f.hash, err
}

// The two modes of a tree that we write.
const (
	modeFile   = "100644"
	modeFolder = "40000"
)

func slashed(name, mode string) string {
	if mode == modeFolder {
		return name + "/"
	}
	return name
}

// storeObject writes one object, as git encodes it.
func storeObject(to storer.EncodedObjectStorer, kind plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	o := to.NewEncodedObject()
	o.SetType(kind)
	o.SetSize(int64(len(content)))
	w, err := o.Writer()
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("encoding a %s: %w", kind, err)
	}
	hash, err := to.SetEncodedObject(o)
	if err != nil {
		return plumbing.ZeroHash, fmt.Errorf("writing a %s: %w", kind, err)
	}
	return hash, nil
}
