package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/gitrepo"
)

// machine is what the client's verbs know about this machine: its places, its
// configuration, and the roots that are registered on it.
type machine struct {
	paths  config.Paths
	client config.Effective[config.Client]
}

// machine reads the client's configuration.
func (a *app) machine() (machine, error) {
	paths, err := config.FindPaths(a.getenv)
	if err != nil {
		return machine{}, err
	}
	client, err := config.LoadClient(config.Input{File: paths.ConfigFile, Required: a.getenv("TEAMMEMD_CONFIG") != "", Getenv: a.getenv})
	if err != nil {
		return machine{}, err
	}
	return machine{paths, client}, nil
}

// roots returns the registered roots.
func (m machine) roots() ([]config.Root, error) { return config.LoadRoots(m.paths) }

// log returns the log of a long-running verb.
func (a *app) log(m machine) *slog.Logger {
	level, _ := config.Level(m.client.Config.LogLevel) // checked when it was loaded
	format := m.client.Config.LogFormat
	return a.logger(level, format == "json" || format == "auto" && !isTerminal(a.err) && a.getenv("JOURNAL_STREAM") == "")
}

// pick returns the roots that a verb is about: the one that path belongs to,
// else the one that the working directory belongs to, else all.
func (m machine) pick(args []string) ([]config.Root, error) {
	roots, err := m.roots()
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, withHint(fmt.Errorf("%w: no team directory is registered on this machine", api.ErrUsage),
			"run 'teammemd up' in a checkout, or 'teammemd join URL'")
	}
	if len(args) > 0 {
		root, ok := rootFor(roots, args[0])
		if !ok {
			return nil, withHint(fmt.Errorf("%w: %s belongs to no registered root", api.ErrUsage, args[0]),
				"run 'teammemd init %s --server URL', or see 'teammemd status'", args[0])
		}
		return []config.Root{root}, nil
	}
	if dir, err := os.Getwd(); err == nil {
		if root, ok := rootFor(roots, dir); ok {
			return []config.Root{root}, nil
		}
	}
	return roots, nil
}

// rootFor is [config.RootFor] that knows linked worktrees: they share the root of
// their main checkout.
func rootFor(roots []config.Root, path string) (config.Root, bool) {
	if root, ok := config.RootFor(roots, path); ok {
		return root, true
	}
	info, _ := gitrepo.Find(path) // without a repository there is nothing more to try
	if info.CanonicalRoot == "" {
		return config.Root{}, false
	}
	return config.RootFor(roots, info.CanonicalRoot)
}

// one is pick for a verb that needs a single root.
func (m machine) one(args []string) (config.Root, error) {
	roots, err := m.pick(args)
	if err != nil {
		return config.Root{}, err
	}
	if len(roots) > 1 {
		return config.Root{}, withHint(fmt.Errorf("%w: %d roots are registered and the working directory belongs to none", api.ErrUsage, len(roots)),
			"run it inside the checkout that you mean")
	}
	return roots[0], nil
}

// keyOf returns the root and key of a file in a team directory. A bare name that
// is no file here is taken for a key of the one root that the working directory
// belongs to.
func (m machine) keyOf(file string) (config.Root, api.Key, error) {
	roots, err := m.roots()
	if err != nil {
		return config.Root{}, api.Key{}, err
	}
	if abs, err := filepath.Abs(file); err == nil {
		for _, root := range roots {
			rel, err := filepath.Rel(resolved(root.Dir), resolvedParent(abs))
			if err == nil && filepath.IsLocal(rel) && rel != "." {
				key, err := api.ParseKey(filepath.ToSlash(rel))
				return root, key, err
			}
		}
	}
	root, err := m.one(nil)
	if err != nil {
		return config.Root{}, api.Key{}, err
	}
	if filepath.IsAbs(file) {
		return config.Root{}, api.Key{}, withHint(fmt.Errorf("%w: %s is in no registered team directory", api.ErrUsage, file), "see 'teammemd status' for them")
	}
	key, err := api.ParseKey(filepath.ToSlash(filepath.Clean(file)))
	return root, key, err
}

// resolved is path with its links resolved, as far as it exists.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// resolvedParent resolves the directory of a file but not the file itself.
func resolvedParent(path string) string {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, filepath.Base(path))
	} else if errors.Is(err, os.ErrNotExist) && dir != path {
		return filepath.Join(resolvedParent(dir), filepath.Base(path))
	}
	return path
}
