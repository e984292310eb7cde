package main

import (
	"path/filepath"
	"strings"
)

// home is the user's home directory, "" where the environment names none.
func (a *app) home() string {
	if home := a.getenv("HOME"); home != "" {
		return home
	}
	return a.getenv("USERPROFILE")
}

// tilde writes a path below the home directory the short way.
func (a *app) tilde(path string) string {
	if home := a.home(); home != "" {
		if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
			return filepath.Join("~", rest)
		}
	}
	return path
}
