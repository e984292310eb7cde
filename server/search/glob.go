package search

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/teammem/teammemd/api"
)

// glob is a pattern of keys, folded.
type glob struct {
	pattern []rune
	last    bool // it is about the last segment
}

func newGlob(pattern string) glob {
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	pattern = strings.TrimPrefix(pattern, "/")
	// Folded as [api.Key.Fold] does, but for letters that fold to several.
	folded := norm.NFC.String(strings.ToLower(pattern))
	return glob{[]rune(folded), !strings.Contains(pattern, "/") && pattern != "**"}
}

func (g glob) matches(key api.Key) bool {
	name := key.Fold()
	if g.last {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	return g.match(name)
}

// match follows all ways through the pattern at once: reach[i] says that
// pattern[i:] can be what is left of the name.
func (g glob) match(name string) bool {
	reach, next := make([]bool, len(g.pattern)+1), make([]bool, len(g.pattern)+1)
	reach[0] = true
	g.passStars(reach)
	for _, r := range name {
		clear(next)
		alive := false
		for i, p := range g.pattern {
			if !reach[i] {
				continue
			}
			switch {
			case p == '*' && (r != '/' || g.deep(i)):
				next[i], alive = true, true
			case p != '*' && (p == r || p == '?' && r != '/'):
				next[i+1], alive = true, true
			}
		}
		if !alive {
			return false
		}
		g.passStars(next)
		reach, next = next, reach
	}
	return reach[len(g.pattern)]
}

// deep reports whether a '*' is one of two in a row.
func (g glob) deep(i int) bool {
	return i+1 < len(g.pattern) && g.pattern[i+1] == '*' || i > 0 && g.pattern[i-1] == '*'
}

// passStars lets stars stand for nothing.
func (g glob) passStars(reach []bool) {
	for i, p := range g.pattern {
		if reach[i] && p == '*' {
			reach[i+1] = true
		}
	}
}
