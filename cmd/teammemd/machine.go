package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/internal/gitrepo"
	"github.com/teammem/teammemd/internal/signin"
	"github.com/teammem/teammemd/sync/remote"
)

// machine is what the client's verbs know about this machine: its places, its
// configuration, and the roots that are registered on it.
type machine struct {
	paths  config.Paths
	client config.Effective[config.Client]
	getenv func(string) string
	keeper *signin.Keeper // of sign-ins; nil: there are none
}

// machine reads the client's configuration.
func (a *app) machine() (machine, error) {
	paths, err := config.FindPaths(a.getenv)
	if err != nil {
		return machine{}, err
	}
	client, err := a.loadClient(paths)
	if err != nil {
		return machine{}, err
	}
	keeper := signin.NewKeeper(signin.Options{
		Credentials: config.CredentialsAt(paths), Keyring: signin.SystemKeyring(client.Config.Keyring, a.getenv), Transport: remote.NewTransport(),
	})
	return machine{paths, client, a.getenv, keeper}, nil
}

func (a *app) loadClient(paths config.Paths) (config.Effective[config.Client], error) {
	return config.LoadClient(config.Input{File: paths.ConfigFile, Required: a.getenv("TEAMMEMD_CONFIG") != "", Getenv: a.getenv})
}

// roots returns the registered roots.
func (m machine) roots() ([]config.Root, error) { return config.LoadRoots(m.paths) }

// daemon connects to the daemon that runs; [control.ErrNotRunning] when none does.
func (m machine) daemon(ctx context.Context) (*control.Client, error) {
	client, err := control.Dial(ctx, m.paths.Socket(), m.paths.SocketNote())
	if errors.Is(err, control.ErrStuck) {
		err = withHint(err, "it was stopped or hangs: see 'teammemd logs', and start it again")
	}
	return client, err
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

// keyOf is nameOf for verbs that need a key which can be on the server.
func (m machine) keyOf(file string) (config.Root, api.Key, error) {
	root, name, err := m.nameOf(file)
	if err != nil {
		return config.Root{}, api.Key{}, err
	}
	key, err := api.ParseKey(name)
	if err != nil {
		return config.Root{}, api.Key{}, fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	return root, key, nil
}

// nameOf returns the root of a file in a team directory and its slash path there,
// also for names that can be no key. A bare name that is in no team directory is
// taken for one in the root that the working directory belongs to.
func (m machine) nameOf(file string) (config.Root, string, error) {
	roots, err := m.roots()
	if err != nil {
		return config.Root{}, "", err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return config.Root{}, "", fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	abs = resolvedParent(abs)
	for _, root := range roots {
		rel, err := filepath.Rel(resolved(root.Dir), abs)
		if err == nil && filepath.IsLocal(rel) && rel != "." {
			return root, filepath.ToSlash(rel), nil
		}
	}
	if !filepath.IsLocal(file) {
		return config.Root{}, "", withHint(fmt.Errorf("%w: %s is in no registered team directory", api.ErrUsage, file), "see 'teammemd status' for them")
	}
	root, err := m.one(nil)
	return root, filepath.ToSlash(filepath.Clean(file)), err
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
