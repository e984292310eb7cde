package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// checkFree refuses root when another has its directory, or part of it.
func checkFree(root Root, others []Root) error {
	for _, other := range others {
		switch overlap(root.Dir, other.Dir) {
		case same:
			return &TakenError{Dir: root.Dir, Holder: other}
		case nested:
			return &TakenError{Dir: root.Dir, Holder: other, Nested: true}
		}
	}
	return nil
}

type relation int

const (
	apart relation = iota
	nested
	same
)

// overlap compares two directories by name and by what is there: links are
// resolved, and each is looked for by device and inode among the other and its
// parents, which a bind mount or another case of the name cannot hide.
func overlap(a, b string) relation {
	ra, rb := resolve(a), resolve(b)
	if filepath.Clean(a) == filepath.Clean(b) || ra == rb || sameFile(ra, rb) {
		return same
	}
	if inside(ra, rb) || inside(rb, ra) {
		return nested
	}
	return apart
}

// inside reports whether dir lies below outer.
func inside(dir, outer string) bool {
	if strings.HasPrefix(dir, strings.TrimSuffix(outer, string(filepath.Separator))+string(filepath.Separator)) {
		return true
	}
	st, err := os.Stat(outer)
	if err != nil {
		return false
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		if ps, err := os.Stat(parent); err == nil && os.SameFile(st, ps) {
			return true
		}
		if parent == filepath.Dir(parent) {
			return false
		}
	}
}

// resolve returns path without links, as far as it exists.
func resolve(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

func sameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}

// RootFor returns the root that path belongs to: the one whose team directory
// or checkout contains it, the deepest where several do. Links are resolved.
func RootFor(roots []Root, path string) (Root, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Root{}, false
	}
	abs = resolve(abs)
	var best Root
	depth := -1
	for _, root := range roots {
		for _, base := range []string{root.Dir, root.Path} {
			if base == "" {
				continue
			}
			base = resolve(base)
			if (abs == base || inside(abs, base)) && len(base) > depth {
				best, depth = root, len(base)
			}
		}
	}
	return best, depth >= 0
}
