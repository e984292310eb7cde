package gitrepo

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	format "github.com/go-git/go-git/v5/plumbing/format/config"
)

const (
	maxConfig   = 4 << 20 // bytes of one configuration file
	maxIncludes = 10      // depth, as in git
	maxEnvPairs = 1000    // GIT_CONFIG_COUNT
)

// setting is one line of git configuration. Section and key are lower case.
type setting struct {
	section, sub, key, value string
}

// settings are all lines that apply, in git's order of precedence, weakest
// first.
type settings []setting

// last returns the value that wins for a single-valued key.
func (s settings) last(section, sub, key string) (string, bool) {
	for _, x := range slices.Backward(s) {
		if x.section == section && x.sub == sub && x.key == key {
			return x.value, true
		}
	}
	return "", false
}

// all returns a multi-valued key; an empty value clears those before it, as in
// git.
func (s settings) all(section, sub, key string) []string {
	var values []string
	for _, x := range s {
		if x.section != section || x.sub != sub || x.key != key {
			continue
		}
		if x.value == "" {
			values = nil
			continue
		}
		values = append(values, x.value)
	}
	return values
}

// reader gathers settings for one repository.
type reader struct {
	f    Finder
	home string
	loc  location
	out  settings
}

// load reads system, global, local, worktree and environment configuration. A
// file that is absent or broken counts as empty: what it would have said does
// not concern us, or shows as a missing remote.
func (f Finder) load(loc location) settings {
	r := &reader{f: f, home: f.home(), loc: loc}
	for _, file := range f.outerFiles(r.home) {
		r.file(file, 0)
	}
	r.file(filepath.Join(loc.common, "config"), 0)
	if on, _ := r.out.last("extensions", "", "worktreeconfig"); isTrue(on) {
		r.file(filepath.Join(loc.gitDir, "config.worktree"), 0)
	}
	r.environment()
	return r.out
}

func (f Finder) home() string {
	if home := f.Getenv("HOME"); home != "" {
		return home
	}
	return f.Getenv("USERPROFILE")
}

// outerFiles lists the files outside the repository, weakest first.
func (f Finder) outerFiles(home string) []string {
	var files []string
	if !isTrue(f.Getenv("GIT_CONFIG_NOSYSTEM")) {
		if system := f.Getenv("GIT_CONFIG_SYSTEM"); system != "" {
			files = append(files, system)
		} else if f.System != "" {
			files = append(files, f.System)
		}
	}
	if global := f.Getenv("GIT_CONFIG_GLOBAL"); global != "" {
		return append(files, global)
	}
	if xdg := f.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config", "git", "config"))
	}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	return files
}

// file appends the settings of one file, its includes in their place.
func (r *reader) file(path string, depth int) {
	text, err := readSome(path, maxConfig)
	if err != nil {
		return
	}
	for _, chunk := range chunks(text) {
		for _, s := range decode(chunk) {
			r.out = append(r.out, s)
			if s.key == "path" && depth < maxIncludes && r.included(s, path) {
				r.file(r.expand(s.value, filepath.Dir(path)), depth+1)
			}
		}
	}
}

// environment appends GIT_CONFIG_KEY_<n> and GIT_CONFIG_VALUE_<n>.
func (r *reader) environment() {
	n, err := strconv.Atoi(r.f.Getenv("GIT_CONFIG_COUNT"))
	if err != nil {
		return
	}
	for i := range min(n, maxEnvPairs) {
		name := r.f.Getenv("GIT_CONFIG_KEY_" + strconv.Itoa(i))
		first, last := strings.IndexByte(name, '.'), strings.LastIndexByte(name, '.')
		if first < 0 {
			continue
		}
		s := setting{
			section: strings.ToLower(name[:first]),
			key:     strings.ToLower(name[last+1:]),
			value:   r.f.Getenv("GIT_CONFIG_VALUE_" + strconv.Itoa(i)),
		}
		if first < last {
			s.sub = name[first+1 : last]
		}
		r.out = append(r.out, s)
	}
}

// expand resolves a path written in a configuration file of directory dir.
func (r *reader) expand(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && r.home != "" {
		return filepath.Join(r.home, filepath.FromSlash(rest))
	}
	return absFrom(dir, path)
}

// chunks cuts a file before each section header, so that one line that the
// decoder does not know costs one section and not the file, and so that the
// order of sections is kept.
func chunks(text []byte) [][]byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	var out [][]byte
	start, continued := 0, false
	for at := 0; at < len(text); {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := bytes.TrimSpace(text[at:end])
		if !continued && bytes.HasPrefix(line, []byte("[")) && at > start {
			out = append(out, text[start:at])
			start = at
		}
		continued = bytes.HasSuffix(line, []byte(`\`))
		at = end
	}
	return append(out, text[start:])
}

// decode reads one section; a broken one has no settings. The decoder's error
// quotes the file, so it goes no further.
func decode(chunk []byte) []setting {
	raw := format.New()
	if err := format.NewDecoder(bytes.NewReader(chunk)).Decode(raw); err != nil {
		return nil
	}
	var out []setting
	for _, sec := range raw.Sections {
		name := strings.ToLower(sec.Name)
		for _, o := range sec.Options {
			out = append(out, setting{section: name, key: strings.ToLower(o.Key), value: o.Value})
		}
		for _, sub := range sec.Subsections {
			for _, o := range sub.Options {
				out = append(out, setting{section: name, sub: sub.Name, key: strings.ToLower(o.Key), value: o.Value})
			}
		}
	}
	return out
}

// isTrue reads git's spellings of true.
func isTrue(s string) bool {
	switch strings.ToLower(s) {
	case "true", "yes", "on":
		return true
	}
	n, err := strconv.Atoi(s)
	return err == nil && n != 0
}
