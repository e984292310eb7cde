package memdir

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/teammem/teammemd/api"
)

// temporary lists what editors and desktops leave beside a file while they save
// it (SYNC.md, section 2). Dotfiles, which cover more of them, are a rule of
// their own.
var temporary = []string{
	"*~", "4913", "#*#", "*.sw?", "*___jb_???___", "~$*", "*.tmp",
}

// names decides which names take part.
type names struct {
	extensions []string
	segments   []string // patterns for one segment
	paths      []string // patterns for a whole path
}

func newNames(extensions, ignore []string) (names, error) {
	n := names{extensions: extensions, segments: append([]string{}, temporary...)}
	if len(extensions) == 0 {
		n.extensions = []string{".md", ".txt"}
	}
	for _, ext := range n.extensions {
		if !strings.HasPrefix(ext, ".") || strings.ContainsAny(ext, `/\*?[`) {
			return names{}, fmt.Errorf("%w: extension %q must start with a dot and hold no pattern", api.ErrConfig, ext)
		}
	}
	for _, pattern := range ignore {
		if _, err := path.Match(pattern, "x"); err != nil || pattern == "" {
			return names{}, fmt.Errorf("%w: ignore pattern %q is malformed", api.ErrConfig, pattern)
		}
		if strings.Contains(pattern, "/") {
			n.paths = append(n.paths, strings.Trim(pattern, "/"))
			continue
		}
		n.segments = append(n.segments, pattern)
	}
	return n, nil
}

// ignored reports whether a file or directory takes no part because of its
// name. rel is its path relative to the root, name the last segment.
func (n *names) ignored(rel, name string) bool {
	if strings.HasPrefix(name, ".") {
		return true
	}
	for _, pattern := range n.segments {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	for _, pattern := range n.paths {
		if ok, _ := path.Match(pattern, rel); ok {
			return true
		}
	}
	return false
}

// accepted reports whether a file's extension is one that takes part.
func (n *names) accepted(name string) bool {
	for _, ext := range n.extensions {
		if len(name) > len(ext) && strings.HasSuffix(name, ext) {
			return true
		}
	}
	return false
}

// takesPart reports whether a file of that key would be listed, so that a
// content is not placed where the next snapshot would not see it.
func (n *names) takesPart(key api.Key) bool {
	rel := key.String()
	for i := range len(rel) + 1 {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		if n.ignored(rel[:i], path.Base(rel[:i])) {
			return false
		}
	}
	return n.accepted(path.Base(rel))
}

// keyOf returns the key of a path on disk, or why it has none.
func keyOf(rel string) (api.Key, string) {
	key, err := api.ParseKey(norm.NFC.String(rel))
	if err != nil {
		return api.Key{}, strings.TrimPrefix(err.Error(), api.ErrKeyInvalid.Error()+": ")
	}
	return key, ""
}
