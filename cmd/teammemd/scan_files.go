package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/gitrepo"
	"github.com/teammem/teammemd/scanner"
)

// scanned is one text to scan, under the name that is scanned and shown.
type scanned struct {
	name string
	read func() (string, error)
	repo func() api.Repo // that it belongs to, zero for none
}

// maxScanBytes bounds what is read of one file: a little more than the scanner
// takes, so that it says "too large" itself.
const maxScanBytes = scanner.DefaultMaxBytes + 1

// stdinText is the text on standard input, under a name of the caller's.
func (a *app) stdinText(m machine, name string) scanned {
	return scanned{
		name: name,
		read: func() (string, error) {
			text, err := io.ReadAll(io.LimitReader(a.in, maxScanBytes))
			return string(text), err
		},
		repo: func() api.Repo { return m.repoOf(".") },
	}
}

// filesToScan are named files and, of directories, the memory files.
func (m machine) filesToScan(paths []string) ([]scanned, error) {
	files, err := scanTargets(paths, m.client.Config.Extensions)
	if err != nil {
		return nil, err
	}
	texts := make([]scanned, 0, len(files))
	for _, file := range files {
		texts = append(texts, scanned{
			name: filepath.ToSlash(file),
			read: func() (string, error) { return readRegular(file) },
			repo: func() api.Repo { return m.repoOf(file) },
		})
	}
	return texts, nil
}

// stagedToScan are the memory files that the next commit would change, as it
// would have them; below paths where some are named. Their names are relative to
// the work tree.
func (m machine) stagedToScan(paths []string) ([]scanned, error) {
	below, err := inWorkTree(paths)
	if err != nil {
		return nil, err
	}
	files, err := gitrepo.Staged(".", maxScanBytes, func(path string) bool {
		return slices.Contains(m.client.Config.Extensions, filepath.Ext(path)) && below(path)
	})
	if err != nil {
		return nil, err
	}
	texts := make([]scanned, 0, len(files))
	for _, file := range files {
		texts = append(texts, scanned{
			name: file.Path,
			read: func() (string, error) { return file.Content, file.Err },
			repo: func() api.Repo { return m.repoOf(".") },
		})
	}
	return texts, nil
}

// inWorkTree returns what tells whether a path of the work tree is one of paths
// or below; everything is where none are named.
func inWorkTree(paths []string) (func(string) bool, error) {
	if len(paths) == 0 {
		return func(string) bool { return true }, nil
	}
	root, ok := gitrepo.WorkTree(".")
	var prefixes []string
	for _, path := range paths {
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", api.ErrUsage, err)
		}
		rel, err := filepath.Rel(root, resolvedParent(abs))
		if !ok || err != nil || !filepath.IsLocal(rel) {
			return nil, withHint(fmt.Errorf("%w: %s is not in this work tree", api.ErrUsage, path), "run it inside the checkout")
		}
		prefixes = append(prefixes, filepath.ToSlash(rel))
	}
	return func(path string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool {
			return p == "." || path == p || strings.HasPrefix(path, p+"/")
		})
	}, nil
}

// repoOf returns the repo that a file belongs to: that of its team directory, or
// of its checkout; zero for none.
func (m machine) repoOf(file string) api.Repo {
	roots, err := m.roots()
	if err != nil {
		return api.Repo{}
	}
	if root, ok := rootFor(roots, file); ok {
		return root.Repo
	}
	info, _ := gitrepo.Find(file) // without a repository it belongs to none
	return info.Repo
}

// readRegular reads a plain file; devices and pipes never end.
func readRegular(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fs.ErrInvalid
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxScanBytes))
	return string(text), err
}

// scanTargets lists the files to scan, sorted: named files whatever their
// ending, of directories the memory files.
func scanTargets(paths, extensions []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, withHint(fmt.Errorf("%w: %s cannot be read: %w", api.ErrUsage, path, cause(err)), "name files or directories that exist")
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			if err != nil { // it is told as a refusal, the rest is scanned
				files = append(files, file)
				return fs.SkipDir
			}
			if d.IsDir() && file != path && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			if d.Type().IsRegular() && slices.Contains(extensions, filepath.Ext(file)) {
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", path, cause(err))
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// cause is the system's word without the path that the caller names already.
func cause(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
