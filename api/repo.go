package api

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// maxRepoBytes bounds a repo's name: GitHub stops at 39+1+100, GitLab's nested
// groups go further.
const maxRepoBytes = 512

// Repo names the scope on the server: "owner/repo" for github.com, else
// "host/group/.../repo", lower case. The zero value names none.
type Repo struct{ s string }

// ParseRepo checks s and folds its case. It refuses fewer than two segments,
// empty, "." and ".." segments, a leading or trailing slash, white space,
// control characters, and anything but letters, digits and "-_.~+:@".
func ParseRepo(s string) (Repo, error) {
	bad := func(why string) (Repo, error) {
		return Repo{}, fmt.Errorf("%w: %s; a repo is owner/name or host/group/name", ErrRepoInvalid, why)
	}
	if len(s) > maxRepoBytes {
		return bad("the repo's name is too long")
	}
	if isUsualRepo(s) { // most requests parse a name: no copy of it is made
		return Repo{s}, nil
	}
	s = strings.ToLower(norm.NFC.String(s))
	segments := strings.Split(s, "/")
	if len(segments) < 2 {
		return bad("the repo's name has no slash")
	}
	for _, seg := range segments {
		if seg == "" || seg == "." || seg == ".." {
			return bad("the repo's name has an empty, . or .. segment")
		}
		for _, r := range seg {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_.~+:@", r) {
				return bad("the repo's name has a character that is not allowed")
			}
		}
	}
	return Repo{s}, nil
}

// isUsualRepo reports whether s is a canonical name of lower-case letters a to z,
// digits and the usual signs.
func isUsualRepo(s string) bool {
	slashes, start := 0, 0 // of the segment
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-', c == '_':
		case c == '.' && i == start: // may be all of the segment, or ".."
			return false
		case c == '.':
		case c == '/' && i > start:
			slashes, start = slashes+1, i+1
		default:
			return false
		}
	}
	return slashes > 0 && start < len(s)
}

// String returns the canonical spelling, "" for the zero value.
func (r Repo) String() string { return r.s }

// IsZero reports whether r names no repo.
func (r Repo) IsZero() bool { return r.s == "" }

// MarshalText encodes as [Repo.String].
func (r Repo) MarshalText() ([]byte, error) { return []byte(r.s), nil }

// UnmarshalText decodes with the checks of [ParseRepo].
func (r *Repo) UnmarshalText(text []byte) error {
	repo, err := ParseRepo(string(text))
	if err != nil {
		return err
	}
	*r = repo
	return nil
}
