package claude

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/teammem/teammemd/api"
)

// The environment variables that move the directory.
const (
	envConfigDir    = "CLAUDE_CONFIG_DIR"
	envRemoteMemory = "CLAUDE_CODE_REMOTE_MEMORY_DIR"
	envOverride     = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
)

// teamDir is the part of the memory directory that is shared.
const teamDir = "team"

// ErrNoDirectory says that the directory cannot be known: the project's name
// was cut by the agent and ends in a number that only the agent can compute.
var ErrNoDirectory = errors.New("no memory directory yet")

// Place is a project on a machine.
type Place struct {
	// Getenv returns an environment variable's value, "" for unset.
	Getenv func(string) string
	// Home is the user's home directory, absolute; it may be "" where
	// CLAUDE_CONFIG_DIR is set.
	Home string
	// Root is the checkout and CanonicalRoot the main checkout it belongs to, both
	// absolute. An empty Root means that the two are one.
	Root, CanonicalRoot string
	// PolicyFiles are the administrator's settings, weakest first; nil means
	// those of this operating system.
	PolicyFiles []string
}

// Location is a memory directory and how it was found.
type Location struct {
	// Dir is absolute; it need not exist.
	Dir string
	// How is one clause for people.
	How string
	// Candidates are all directories that were considered, the published rule
	// first. There is only one where a setting decides.
	Candidates []Candidate
}

// Candidate is a directory that some version of the agent would use.
type Candidate struct {
	Dir    string
	How    string
	Exists bool
}

// TeamDir returns the shared directory inside the memory directory.
func (l Location) TeamDir() string { return filepath.Join(l.Dir, teamDir) }

// TeamDir returns the shared directory of a project.
func TeamDir(p Place) (string, error) {
	loc, err := MemoryDir(p)
	if err != nil {
		return "", err
	}
	return loc.TeamDir(), nil
}

// MemoryDir applies the rules in the agent's order: the override, the setting,
// the project's directory. An override or a setting that is no usable path is
// passed over, as the agent does. Errors: [ErrNoDirectory], and [api.ErrConfig]
// when neither a home nor a configuration directory is known.
func MemoryDir(p Place) (Location, error) {
	if dir, ok := usable(p.Getenv(envOverride), ""); ok {
		return only(dir, "from "+envOverride), nil
	}
	if dir, how, ok := p.configured(); ok {
		return only(dir, how), nil
	}
	base, how, err := p.base()
	if err != nil {
		return Location{}, err
	}
	return choose(p.candidates(base), how)
}

func only(dir, how string) Location {
	return Location{Dir: dir, How: how, Candidates: []Candidate{{dir, how, isDir(dir)}}}
}

// choose takes the first candidate that exists, else the published rule.
func choose(candidates []Candidate, how string) (Location, error) {
	if len(candidates) == 0 {
		return Location{}, fmt.Errorf("%w: %w: the checkout's path is too long for its directory to be computed; start Claude Code in it once, or give --team-dir",
			api.ErrUsage, ErrNoDirectory)
	}
	for _, c := range candidates {
		if c.Exists {
			return Location{Dir: c.Dir, How: c.How + how, Candidates: candidates}, nil
		}
	}
	first := candidates[0]
	return Location{Dir: first.Dir, How: first.How + how + ", not there yet", Candidates: candidates}, nil
}

// configHome is the agent's own directory, "" when unknown.
func (p Place) configHome() string {
	if dir := p.Getenv(envConfigDir); dir != "" {
		return norm.NFC.String(filepath.Clean(dir))
	}
	if p.Home == "" {
		return ""
	}
	return norm.NFC.String(filepath.Join(p.Home, ".claude"))
}

// base is the directory that holds projects/.
func (p Place) base() (dir, how string, err error) {
	if dir := p.Getenv(envRemoteMemory); dir != "" {
		return norm.NFC.String(filepath.Clean(dir)), " in " + envRemoteMemory, nil
	}
	home := p.configHome()
	if home == "" {
		return "", "", fmt.Errorf("%w: neither HOME nor %s is set, so Claude Code's directory is unknown", api.ErrConfig, envConfigDir)
	}
	if p.Getenv(envConfigDir) != "" {
		how = " in " + envConfigDir
	}
	return home, how, nil
}

// usable applies the agent's own checks to a configured path: absolute, not a
// file system's root or a network share, no NUL; "~/" only where home is given.
func usable(path, home string) (string, bool) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		rest = filepath.Clean(filepath.FromSlash(rest))
		if rest == "." || !filepath.IsLocal(rest) {
			return "", false
		}
		path = filepath.Join(home, rest)
	}
	if path == "" || strings.ContainsRune(path, 0) || !filepath.IsAbs(path) {
		return "", false
	}
	shared := strings.HasPrefix(path, `\\`) || strings.HasPrefix(path, "//")
	path = norm.NFC.String(filepath.Clean(path))
	rest := strings.Trim(path[len(filepath.VolumeName(path)):], `/\`)
	return path, rest != "" && !shared
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
