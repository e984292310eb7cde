package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/agents/claude"
	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/internal/gitrepo"
)

// registration is what init, join and up ask for.
type registration struct {
	path      string // the checkout
	server    string
	repo      string
	teamDir   string
	tokenFile string
	// anyCheckout names a checkout without a remote by its directory: enough for
	// a server on this machine, not for one that is shared.
	anyCheckout bool
}

func (r *registration) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.teamDir, "team-dir", "", "the team directory; default: Claude Code's for this checkout")
	cmd.Flags().StringVar(&r.repo, "repo", "", "the repo on the server; default: from the checkout's remote")
}

func pathArg(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return "."
}

// resolve turns what was asked for into a root: the repo from the checkout, the
// team directory from the agent, unless both are named.
func (a *app) resolve(m machine, r registration) (config.Root, error) {
	server, err := config.CanonicalServer(r.server)
	if err != nil {
		return config.Root{}, fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	root := config.Root{Server: server}
	if r.repo != "" {
		if root.Repo, err = api.ParseRepo(r.repo); err != nil {
			return config.Root{}, fmt.Errorf("%w: --repo: %w", api.ErrUsage, err)
		}
	}
	if root.TokenFile, err = checkedTokenFile(r.tokenFile); err != nil {
		return config.Root{}, err
	}
	info, err := gitrepo.Find(r.path)
	if err := a.checkout(&root, r, info, err); err != nil {
		return config.Root{}, err
	}
	if root.Dir, err = a.teamDir(r, info); err != nil {
		return config.Root{}, err
	}
	return root, checkTeamDir(m, root.Dir)
}

// checkout fills in what the checkout says. With repo and team directory named,
// no git is needed.
func (a *app) checkout(root *config.Root, r registration, info gitrepo.Info, err error) error {
	named := r.repo != "" && r.teamDir != ""
	switch {
	case errors.Is(err, gitrepo.ErrNoRepository) && named:
		return nil
	case (errors.Is(err, gitrepo.ErrNoRemote) || errors.Is(err, gitrepo.ErrUnknownRemote)) && r.repo != "":
	case errors.Is(err, gitrepo.ErrNoRemote) && r.anyCheckout:
		if root.Repo, err = localRepo(info.CanonicalRoot); err != nil {
			return err
		}
		a.sayf("teammemd: the checkout has no remote: its memory is kept as %s; name another by --repo\n", root.Repo)
	case err != nil && !named:
		return err
	}
	root.Path = info.CanonicalRoot // linked worktrees share its memory
	if root.Repo.IsZero() {
		root.Repo = info.Repo
		if info.Local {
			a.sayf("teammemd: the remote is a directory on this machine: the memory is kept as %s; name another by --repo\n", root.Repo)
		}
	}
	return nil
}

// localRepo names a checkout that has no remote by its directory.
func localRepo(dir string) (api.Repo, error) {
	name := strings.Map(func(r rune) rune {
		if r == ' ' || r == '/' {
			return '-'
		}
		return r
	}, filepath.Base(dir))
	repo, err := api.ParseRepo("local/" + name)
	if err != nil {
		return api.Repo{}, withHint(fmt.Errorf("%w: the checkout has no remote, and its directory's name names no repo", api.ErrUsage), "give --repo owner/name")
	}
	return repo, nil
}

// checkedTokenFile makes the path absolute and sees that a token is in it.
func checkedTokenFile(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("%w: --token-file: %w", api.ErrUsage, err)
	}
	if _, err := config.ReadTokenFile(abs); err != nil {
		// A wrong argument, whatever it would be in a configuration.
		return "", fmt.Errorf("%w: --token-file: %s", api.ErrUsage, strings.TrimPrefix(err.Error(), api.ErrConfig.Error()+": "))
	}
	return abs, nil
}

// teamDir returns the team directory, absolute.
func (a *app) teamDir(r registration, info gitrepo.Info) (string, error) {
	if r.teamDir != "" {
		dir, err := filepath.Abs(r.teamDir)
		if err != nil {
			return "", fmt.Errorf("%w: --team-dir: %w", api.ErrUsage, err)
		}
		return dir, nil
	}
	return claude.TeamDir(claude.Place{Getenv: a.getenv, Home: a.home(), Root: info.Root, CanonicalRoot: info.CanonicalRoot})
}

// checkTeamDir refuses directories that would sync what is not memory.
func checkTeamDir(m machine, dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%w: the team directory %s is a file", api.ErrUsage, dir)
	}
	at := resolvedParent(dir)
	for _, own := range []string{m.paths.StateDir, m.paths.ConfigDir, m.paths.DataDir} {
		if contains(at, resolvedParent(own)) {
			return fmt.Errorf("%w: the team directory %s contains teammemd's own files", api.ErrUsage, dir)
		}
	}
	for _, own := range []string{m.paths.StateDir, m.paths.RootsDir(), m.paths.DataDir} {
		if contains(resolvedParent(own), at) {
			return fmt.Errorf("%w: the team directory %s lies in teammemd's own directory %s", api.ErrUsage, dir, own)
		}
	}
	return nil
}

// contains reports whether inner is dir or lies below it.
func contains(dir, inner string) bool {
	rel, err := filepath.Rel(dir, inner)
	return err == nil && filepath.IsLocal(rel)
}

// register stores the root and makes its team directory. The same directory and
// repo again is no error: server and token file are renewed.
func (a *app) register(m machine, root config.Root) (config.Root, error) {
	added, err := config.AddRoot(m.paths, root)
	taken, isTaken := errors.AsType[*config.TakenError](err)
	if isTaken && !taken.Nested && taken.Holder.Repo == root.Repo {
		again := taken.Holder
		again.Server, again.Path = root.Server, root.Path
		if root.TokenFile != "" {
			again.TokenFile = root.TokenFile
		}
		added, err = again, config.UpdateRoot(m.paths, again)
	}
	if err != nil {
		return config.Root{}, err
	}
	if err := makeTeamDir(added.Dir); err != nil {
		if !isTaken {
			err = errors.Join(err, config.RemoveRoot(m.paths, added.ID))
		}
		return config.Root{}, err
	}
	return added, nil
}

// makeTeamDir makes a team directory, private to the user, as the agent makes its
// own.
func makeTeamDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w: making the team directory: %w", api.ErrUsage, err)
	}
	return nil
}

// tellDaemon makes a running daemon read the roots anew.
func (a *app) tellDaemon(ctx context.Context, m machine) error {
	daemon, err := m.daemon(ctx)
	if errors.Is(err, control.ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	return daemon.Reload(ctx)
}
