package gitrepo

import (
	"path/filepath"
	"regexp"
	"strings"
)

// included reports whether s is an include of file that applies here.
func (r *reader) included(s setting, file string) bool {
	switch s.section {
	case "include":
		return s.sub == ""
	case "includeif":
		return r.condition(s.sub, filepath.Dir(file))
	}
	return false
}

// condition evaluates gitdir, gitdir/i and onbranch. Others are false, as they
// are for a git that does not know them.
func (r *reader) condition(text, dir string) bool {
	kind, pattern, ok := strings.Cut(text, ":")
	if !ok || pattern == "" {
		return false
	}
	switch kind {
	case "gitdir", "gitdir/i":
		pattern = r.dirPattern(pattern, dir)
		fold := kind == "gitdir/i"
		real, err := filepath.EvalSymlinks(r.loc.gitDir)
		return wildmatch(pattern, filepath.ToSlash(r.loc.gitDir), fold) ||
			err == nil && wildmatch(pattern, filepath.ToSlash(real), fold)
	case "onbranch":
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		branch := r.loc.branch()
		return branch != "" && wildmatch(pattern, branch, false)
	}
	return false
}

// dirPattern applies git's rules for gitdir conditions.
func (r *reader) dirPattern(pattern, dir string) string {
	switch {
	case strings.HasPrefix(pattern, "~/"):
		pattern = filepath.ToSlash(r.home) + pattern[1:]
	case strings.HasPrefix(pattern, "./"):
		pattern = filepath.ToSlash(dir) + pattern[1:]
	case !filepath.IsAbs(filepath.FromSlash(pattern)):
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	return pattern
}

// branch returns the checked-out branch, "" for a detached HEAD.
func (loc location) branch() string {
	text, err := readSome(filepath.Join(loc.gitDir, "HEAD"), maxPointer)
	if err != nil {
		return ""
	}
	ref, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref:")
	if !ok {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(ref), "refs/heads/")
	if !ok {
		return ""
	}
	return name
}

// wildmatch matches name against a glob in which * and ? stop at a slash and **
// does not.
func wildmatch(pattern, name string, fold bool) bool {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	if fold {
		b.WriteString(`(?i)`)
	}
	for rest := pattern; rest != ""; {
		switch {
		case strings.HasPrefix(rest, "**/"):
			b.WriteString(`(?:.*/)?`)
			rest = rest[3:]
		case strings.HasPrefix(rest, "**"):
			b.WriteString(`.*`)
			rest = rest[2:]
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
			rest = rest[1:]
		case rest[0] == '?':
			b.WriteString(`[^/]`)
			rest = rest[1:]
		default:
			n := strings.IndexAny(rest, "*?")
			if n < 0 {
				n = len(rest)
			}
			b.WriteString(regexp.QuoteMeta(rest[:n]))
			rest = rest[n:]
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	return err == nil && re.MatchString(name)
}
