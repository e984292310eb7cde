package auth

import (
	"fmt"
	"path"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/teammem/teammemd/api"
)

// maxPatternBytes bounds a pattern, in bytes; a repo's name ends there as well.
const maxPatternBytes = 512

// Pattern selects repos: segments separated by "/", in which "*" stands for any
// run of characters within one segment and a segment "**" for any number of
// segments. "*" alone, like "**", selects all. The zero value selects none.
type Pattern struct {
	s        string
	all      bool
	exact    api.Repo // the one repo, zero for a pattern with stars
	segments []string
}

// ParsePattern checks s and folds its case. The error wraps [api.ErrUsage] and
// says what a pattern looks like.
func ParsePattern(s string) (Pattern, error) {
	bad := func(why string) (Pattern, error) {
		return Pattern{}, fmt.Errorf("%w: %s; a pattern of repos is owner/name, owner/*, host/group/** or *", api.ErrUsage, why)
	}
	switch {
	case s == "":
		return bad("the pattern is empty")
	case len(s) > maxPatternBytes:
		return bad("the pattern is too long")
	case s == "*" || s == "**":
		return Pattern{s: s, all: true}, nil
	}
	// With every run of "*" read as a letter, a pattern is spelled like a repo.
	letters := strings.ReplaceAll(strings.ReplaceAll(s, "**", "x"), "*", "x")
	if _, err := api.ParseRepo(letters); err != nil {
		return bad("without its stars the pattern is not spelled like a repo")
	}
	folded := strings.ToLower(norm.NFC.String(s)) // as api.ParseRepo folds a name
	segments := strings.Split(folded, "/")
	for _, seg := range segments {
		if strings.Contains(seg, "**") && seg != "**" {
			return bad("** stands for whole segments and must be alone in its own")
		}
	}
	p := Pattern{s: folded, segments: segments}
	if !strings.Contains(folded, "*") {
		exact, err := api.ParseRepo(folded)
		if err != nil {
			return bad("the pattern is not spelled like a repo")
		}
		p.exact = exact
	}
	return p, nil
}

// String returns the pattern as it was checked, case folded.
func (p Pattern) String() string { return p.s }

// only returns the repo that a pattern without stars selects.
func (p Pattern) only() (api.Repo, bool) { return p.exact, !p.exact.IsZero() }

// Match reports whether the pattern selects repo.
func (p Pattern) Match(repo api.Repo) bool {
	if repo.IsZero() {
		return false
	}
	if p.all || p.s == repo.String() {
		return true
	}
	if !strings.Contains(p.s, "*") {
		return false
	}
	var room [8]string // more segments than names have: no list on the heap
	name := room[:0]
	for segment := range strings.SplitSeq(repo.String(), "/") {
		name = append(name, segment)
	}
	return matchSegments(p.segments, name)
}

// matchSegments is the linear wildcard match: only the last "**" seen ever needs
// to take more, since whatever stands between two of them has a fixed length.
func matchSegments(pattern, name []string) bool {
	p, n := 0, 0
	star, resume := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, resume = p, n
			p++
		case p < len(pattern) && matchSegment(pattern[p], name[n]):
			p++
			n++
		case star >= 0:
			resume++
			p, n = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// matchSegment uses path.Match, of whose syntax a checked pattern holds only "*".
func matchSegment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
