package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"runtime"

	"github.com/teammem/teammemd/api"
)

const appName = "teammemd"

// Paths are the program's places on one machine for one user, all absolute.
// None need exist.
type Paths struct {
	// ConfigFile is the client's configuration, ConfigDir its directory.
	ConfigFile, ConfigDir string
	// StateDir holds what must survive a restart: bases, saved copies, tokens.
	StateDir string
	// DataDir holds the embedded server's database.
	DataDir string
	// RuntimeDir holds the control socket.
	RuntimeDir string
}

// FindPaths applies the XDG base directory rules, TEAMMEMD_CONFIG (a file) and
// TEAMMEMD_STATE_DIR to an environment. Without XDG_RUNTIME_DIR the runtime
// directory lies in the state directory. It wraps [api.ErrConfig] when a place
// cannot be known because there is no home directory.
func FindPaths(getenv func(string) string) (Paths, error) {
	return PathsFor(runtime.GOOS, getenv)
}

// PathsFor is [FindPaths] for a named operating system.
func PathsFor(goos string, getenv func(string) string) (Paths, error) {
	b := bases{goos: goos, getenv: getenv}
	p := Paths{
		ConfigDir: b.dir("XDG_CONFIG_HOME", "APPDATA", ".config"),
		StateDir:  b.dir("XDG_STATE_HOME", "LOCALAPPDATA", ".local/state"),
		DataDir:   b.dir("XDG_DATA_HOME", "LOCALAPPDATA", ".local/share"),
	}
	if file := getenv("TEAMMEMD_CONFIG"); file != "" {
		p.ConfigFile = b.absolute("TEAMMEMD_CONFIG", file)
		p.ConfigDir = filepath.Dir(p.ConfigFile)
	} else if p.ConfigDir != "" {
		p.ConfigFile = filepath.Join(p.ConfigDir, "config.toml")
	}
	if dir := getenv("TEAMMEMD_STATE_DIR"); dir != "" {
		p.StateDir = b.absolute("TEAMMEMD_STATE_DIR", dir)
	}
	switch run := getenv("XDG_RUNTIME_DIR"); {
	case filepath.IsAbs(run):
		p.RuntimeDir = filepath.Join(run, appName)
	case p.StateDir != "":
		p.RuntimeDir = filepath.Join(p.StateDir, "run")
	}
	if b.err != nil {
		return Paths{}, b.err
	}
	if p.ConfigDir == "" || p.StateDir == "" || p.DataDir == "" {
		return Paths{}, fmt.Errorf("%w: there is no home directory: set HOME, or XDG_CONFIG_HOME, XDG_STATE_HOME and XDG_DATA_HOME", api.ErrConfig)
	}
	return p, nil
}

// bases resolves base directories; the first error is kept.
type bases struct {
	goos   string
	getenv func(string) string
	err    error
}

// dir returns the program's directory under an XDG variable, or under its
// default. A relative value is ignored, as the XDG rules want.
func (b *bases) dir(xdg, windows, rel string) string {
	if dir := b.getenv(xdg); filepath.IsAbs(dir) {
		return filepath.Join(dir, appName)
	}
	if b.goos == "windows" {
		if dir := b.getenv(windows); dir != "" {
			return filepath.Join(dir, appName)
		}
		if home := b.getenv("USERPROFILE"); home != "" {
			return filepath.Join(home, filepath.FromSlash(rel), appName)
		}
	}
	if home := b.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, filepath.FromSlash(rel), appName)
	}
	return ""
}

// absolute resolves what the user named in a variable of ours.
func (b *bases) absolute(name, path string) string {
	abs, err := filepath.Abs(path)
	if err != nil && b.err == nil {
		b.err = fmt.Errorf("%w: resolving %s: %w", api.ErrConfig, name, err)
	}
	return abs
}

// RootsDir holds one file for each registered root.
func (p Paths) RootsDir() string { return filepath.Join(p.ConfigDir, "roots.d") }

// Lock is the file that the one daemon of a state directory holds.
func (p Paths) Lock() string { return filepath.Join(p.StateDir, "daemon.lock") }

// Socket is the control socket. Its name depends on the state directory, since
// several of them may share one runtime directory.
func (p Paths) Socket() string {
	sum := sha256.Sum256([]byte(p.StateDir))
	return filepath.Join(p.RuntimeDir, "control-"+hex.EncodeToString(sum[:4])+".sock")
}

// SocketNote is a file in which a running daemon writes where its socket is,
// for those who see another runtime directory (cron, a bare ssh).
func (p Paths) SocketNote() string { return filepath.Join(p.StateDir, "socket") }

// RootState is the state directory of one root.
func (p Paths) RootState(id string) string { return filepath.Join(p.StateDir, "roots", id) }

// Credentials is the file of stored tokens.
func (p Paths) Credentials() string { return filepath.Join(p.StateDir, "credentials.json") }
