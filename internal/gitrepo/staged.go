package gitrepo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/index"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"

	"github.com/teammem/teammemd/api"
)

// StagedFile is one file as the next commit would have it.
type StagedFile struct {
	Path    string // slash-separated, relative to the work tree
	Content string // cut where it is longer than was asked for
	Err     error  // it could not be read
}

// Staged describes the files of the index that differ from HEAD, of those that
// want names, with at most limit bytes of each. It reads what is staged, never the
// work tree. Links and submodules are left out, and so is what a commit would
// delete. An index that cannot be understood whole is an error.
func Staged(path string, limit int64, want func(path string) bool) ([]StagedFile, error) {
	return Finder{Getenv: os.Getenv, System: systemConfig}.Staged(path, limit, want)
}

// Staged is [Staged] with the finder's environment: a hook of git may be told of
// another index by GIT_INDEX_FILE, as in a commit of single files.
func (f Finder) Staged(path string, limit int64, want func(path string) bool) ([]StagedFile, error) {
	abs, err := physical(path)
	if err != nil {
		return nil, fmt.Errorf("%w: looking at %q: %w", api.ErrUsage, path, err)
	}
	loc, ok := locate(abs)
	if !ok || loc.bare {
		return nil, &Error{err: ErrNoRepository, text: fmt.Sprintf("no git work tree at %s or above it", abs), hint: "run this inside a checkout"}
	}
	idx, err := f.readIndex(loc)
	if err != nil {
		return nil, err
	}
	fs := dotgit.NewRepositoryFilesystem(osfs.New(loc.gitDir), osfs.New(loc.common))
	store := filesystem.NewStorageWithOptions(fs, cache.NewObjectLRUDefault(), filesystem.Options{
		AlternatesFS: osfs.New(filepath.VolumeName(loc.common) + string(filepath.Separator)), // of a clone that shares objects
	})
	before, err := headTree(store)
	if err != nil {
		return nil, fmt.Errorf("reading HEAD: %w", err)
	}
	var files []StagedFile
	for _, entry := range idx.Entries {
		plain := entry.Mode == filemode.Regular || entry.Mode == filemode.Executable || entry.Mode == filemode.Deprecated
		if !plain || !want(entry.Name) {
			continue
		}
		committed, err := before.find(entry.Name)
		if err != nil {
			return nil, fmt.Errorf("reading HEAD: %w", err)
		}
		if committed == entry.Hash {
			continue
		}
		file := StagedFile{Path: entry.Name}
		file.Content, file.Err = readBlob(store, entry.Hash, limit)
		files = append(files, file)
	}
	return files, nil
}

// WorkTree returns the work tree that contains path.
func WorkTree(path string) (string, bool) {
	abs, err := physical(path)
	if err != nil {
		return "", false
	}
	loc, ok := locate(abs)
	return loc.root, ok && !loc.bare
}

func (f Finder) readIndex(loc location) (*index.Index, error) {
	name := filepath.Join(loc.gitDir, "index")
	if other := f.Getenv("GIT_INDEX_FILE"); other != "" {
		name = absFrom(loc.root, other)
	}
	idx := &index.Index{}
	file, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return idx, nil // nothing was ever added
	}
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	defer file.Close()
	if err := index.NewDecoder(file).Decode(idx); err != nil {
		return nil, fmt.Errorf("reading the index %s: %w", name, err)
	}
	return idx, nil
}

// tree finds blobs in a commit, a directory at a time.
type tree struct {
	store storer.EncodedObjectStorer
	root  plumbing.Hash // zero: there is no commit yet
	dirs  map[plumbing.Hash]map[string]plumbing.Hash
}

// headTree returns the tree of HEAD.
func headTree(store *filesystem.Storage) (*tree, error) {
	t := &tree{store: store, dirs: make(map[plumbing.Hash]map[string]plumbing.Hash)}
	head, err := storer.ResolveReference(store, plumbing.HEAD)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	commit, err := readObject(store, plumbing.CommitObject, head.Hash())
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(commit), "\n")
	name, ok := strings.CutPrefix(line, "tree ")
	if !ok || !plumbing.IsHash(name) {
		return nil, errors.New("the commit names no tree")
	}
	t.root = plumbing.NewHash(name)
	return t, nil
}

// find returns the blob at a path, the zero hash for none.
func (t *tree) find(path string) (plumbing.Hash, error) {
	at := t.root
	for name := range strings.SplitSeq(path, "/") {
		if at.IsZero() {
			return at, nil
		}
		entries, err := t.dir(at)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		at = entries[name]
	}
	return at, nil
}

// dir reads one directory: mode, space, name, NUL, and the hash, for each entry.
// What a path of files leads through is a directory, or has no entry here.
func (t *tree) dir(hash plumbing.Hash) (map[string]plumbing.Hash, error) {
	if entries, ok := t.dirs[hash]; ok {
		return entries, nil
	}
	raw, err := readObject(t.store, plumbing.TreeObject, hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		raw, err = nil, t.isBlob(hash) // a file where the index has a directory
	}
	if err != nil {
		return nil, err
	}
	entries := make(map[string]plumbing.Hash)
	for len(raw) > 0 {
		_, rest, ok := bytes.Cut(raw, []byte{' '})
		name, rest, ok2 := bytes.Cut(rest, []byte{0})
		if !ok || !ok2 || len(rest) < len(plumbing.Hash{}) {
			return nil, errors.New("a tree is damaged")
		}
		entries[string(name)] = plumbing.Hash(rest[:len(plumbing.Hash{})])
		raw = rest[len(plumbing.Hash{}):]
	}
	t.dirs[hash] = entries
	return entries, nil
}

// isBlob returns nil for a blob, else the error of reading it.
func (t *tree) isBlob(hash plumbing.Hash) error {
	_, err := t.store.EncodedObject(plumbing.BlobObject, hash)
	return err
}

// maxObject bounds commits and trees, in bytes.
const maxObject = 64 << 20

func readObject(store storer.EncodedObjectStorer, kind plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	text, err := readSomeObject(store, kind, hash, maxObject)
	return []byte(text), err
}

func readBlob(store storer.EncodedObjectStorer, hash plumbing.Hash, limit int64) (string, error) {
	return readSomeObject(store, plumbing.BlobObject, hash, limit)
}

func readSomeObject(store storer.EncodedObjectStorer, kind plumbing.ObjectType, hash plumbing.Hash, limit int64) (string, error) {
	object, err := store.EncodedObject(kind, hash)
	if err != nil {
		return "", err
	}
	reader, err := object.Reader()
	if err != nil {
		return "", err
	}
	defer reader.Close()
	text, err := io.ReadAll(io.LimitReader(reader, limit))
	return string(text), err
}
