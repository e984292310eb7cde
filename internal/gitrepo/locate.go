package gitrepo

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// location is where the parts of one repository lie, all absolute.
type location struct {
	root   string // work tree, or gitDir of a bare repository
	gitDir string // of this work tree
	common string // shared by all work trees; gitDir unless linked
	linked bool   // a worktree that its repository confirms
	bare   bool   // found as a git directory, not through a .git entry
}

// maxPointer bounds the files that hold one path, in bytes.
const maxPointer = 64 << 10

// locate walks upward from dir.
func locate(dir string) (location, bool) {
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		dir = filepath.Dir(dir)
	}
	for {
		if loc, ok := at(dir); ok {
			return loc, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return location{}, false
		}
		dir = parent
	}
}

// at looks at dir alone: a .git directory, a .git file, or a git directory.
func at(dir string) (location, bool) {
	dotGit := filepath.Join(dir, ".git")
	st, err := os.Stat(dotGit)
	switch {
	case err == nil && st.IsDir() && isGitDir(dotGit):
		return withCommon(location{root: dir, gitDir: dotGit}), true
	case err == nil && st.Mode().IsRegular():
		if target, ok := pointer(dotGit, "gitdir:"); ok && isGitDir(target) {
			return withCommon(location{root: dir, gitDir: target}), true
		}
	}
	if !isGitDir(dir) {
		return location{}, false
	}
	loc := withCommon(location{root: dir, gitDir: dir, bare: true})
	if filepath.Base(dir) == ".git" {
		loc.root, loc.bare = filepath.Dir(dir), false
	}
	return loc, true
}

// isGitDir applies git's own test: HEAD, objects and refs, the last two
// possibly in the common directory.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common, ok := pointer(filepath.Join(dir, "commondir"), "")
	if !ok {
		common = dir
	}
	return isDir(filepath.Join(common, "objects")) && isDir(filepath.Join(common, "refs"))
}

// withCommon resolves the common directory. The repository must confirm a
// linked worktree by pointing back at it: a stray .git file may not claim
// another checkout as its main one.
func withCommon(loc location) location {
	loc.common = loc.gitDir
	common, ok := pointer(filepath.Join(loc.gitDir, "commondir"), "")
	if !ok {
		return loc
	}
	loc.common = common
	back, ok := pointer(filepath.Join(loc.gitDir, "gitdir"), "")
	loc.linked = ok && sameFile(back, filepath.Join(loc.root, ".git")) &&
		sameFile(filepath.Dir(filepath.Dir(loc.gitDir)), common)
	return loc
}

// canonicalRoot returns the main checkout. cfg is this repository's.
func (loc location) canonicalRoot(cfg settings) string {
	if !loc.linked {
		return loc.root
	}
	if filepath.Base(loc.common) == ".git" {
		return filepath.Dir(loc.common)
	}
	// A submodule's repository lies elsewhere and names its checkout.
	if tree, ok := cfg.last("core", "", "worktree"); ok && tree != "" {
		return absFrom(loc.common, tree)
	}
	return loc.common
}

// pointer reads a file that holds one path after prefix, relative to the
// file's directory, and returns it absolute.
func pointer(file, prefix string) (string, bool) {
	text, err := readSome(file, maxPointer)
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(string(text), prefix)
	line, _, _ := strings.Cut(rest, "\n")
	line = strings.TrimSpace(line)
	if !ok || line == "" || strings.ContainsRune(line, 0) {
		return "", false
	}
	return absFrom(filepath.Dir(file), line), true
}

func absFrom(dir, path string) string {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// readSome reads at most limit bytes of a regular file.
func readSome(file string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

func sameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}
