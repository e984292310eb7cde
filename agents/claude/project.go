package claude

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// maxName is the longest project name that the agent writes in full, in
// characters.
const maxName = 200

// candidates lists the project's possible directories, the published rule
// first: the canonical root's name, then what field reports say some versions
// do, an underscore kept and each worktree by itself.
func (p Place) candidates(base string) []Candidate {
	projects := filepath.Join(base, "projects")
	var out []Candidate
	add := func(root, keep, how string) {
		for _, dir := range memoryDirs(projects, projectName(root, keep)) {
			if !slices.ContainsFunc(out, func(c Candidate) bool { return c.Dir == dir }) {
				out = append(out, Candidate{dir, how, isDir(dir)})
			}
		}
	}
	add(p.CanonicalRoot, "", "Claude Code's project directory")
	add(p.CanonicalRoot, "_", "Claude Code's project directory (underscores kept)")
	if p.Root != "" && p.Root != p.CanonicalRoot {
		add(p.Root, "", "Claude Code's project directory (of this worktree)")
		add(p.Root, "_", "Claude Code's project directory (of this worktree, underscores kept)")
	}
	return out
}

// projectName replaces every UTF-16 unit outside [A-Za-z0-9] and keep by "-". A
// character beyond the basic plane has two units.
func projectName(root, keep string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(root) {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r < 0x80 && strings.ContainsRune(keep, r):
			b.WriteRune(r)
		case r > 0xFFFF:
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// memoryDirs returns the memory directories that name may have: one, unless
// the name is too long. Then the agent keeps 200 characters and adds a hash that
// depends on its build, so that only those that exist can be named: the most
// recently used first.
func memoryDirs(projects, name string) []string {
	if len(name) <= maxName {
		return []string{filepath.Join(projects, name, "memory")}
	}
	entries, err := os.ReadDir(projects)
	if err != nil {
		return nil
	}
	type found struct {
		dir  string
		used time.Time
	}
	var hits []found
	for _, e := range entries {
		hash, ok := strings.CutPrefix(e.Name(), name[:maxName]+"-")
		info, err := e.Info()
		if ok && isHash(hash) && err == nil && e.IsDir() {
			hits = append(hits, found{filepath.Join(projects, e.Name(), "memory"), info.ModTime()})
		}
	}
	slices.SortStableFunc(hits, func(a, b found) int { return b.used.Compare(a.used) })
	dirs := make([]string, len(hits))
	for i, hit := range hits {
		dirs[i] = hit.dir
	}
	return dirs
}

// isHash tells the agent's hash, a number in base 36 or 16, from the rest of a
// longer name that was once written in full.
func isHash(s string) bool {
	return s != "" && len(s) <= 16 && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}
