package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
)

// databaseFile is how the database is called in a data directory.
const databaseFile = "teammemd.db"

// withStore opens what a server keeps, to be read beside one that may be running
// on it. It never makes a store where there is none.
func (a *app) withStore(ctx context.Context, flags *serverFlags, use func(store.Backend) error) error {
	return a.withBackend(flags, use, func(c config.Server) (store.Backend, error) { return openBeside(ctx, c) })
}

// withStoreAlone is withStore for what changes the store: on SQLite no server may
// run on it.
func (a *app) withStoreAlone(ctx context.Context, flags *serverFlags, use func(store.Backend) error) error {
	return a.withBackend(flags, use, func(c config.Server) (store.Backend, error) {
		return openServing(ctx, c, a.logger(slog.LevelWarn, false), nil)
	})
}

func (a *app) withBackend(flags *serverFlags, use func(store.Backend) error, open func(config.Server) (store.Backend, error)) error {
	c, err := flags.loadStore(a)
	if err != nil {
		return err
	}
	if err := mustExist(c); err != nil {
		return err
	}
	backend, err := open(c)
	if err != nil {
		return err
	}
	err = explainKeys(use(backend))
	if closing := backend.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("closing the store in %q: %w", storeName(c), closing))
	}
	return err
}

// mustExist refuses a directory without a database: opening it would make one.
func mustExist(c config.Server) error {
	if c.Database.URL != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(c.Data, databaseFile)); errors.Is(err, os.ErrNotExist) {
		return withHint(fmt.Errorf("there is no database in %s", c.Data), "name the server's directory, --data DIR, or its configuration, --config FILE")
	}
	return nil
}

// repoFlag selects repos.
type repoFlag struct{ pattern string }

func (f *repoFlag) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.pattern, "repo", "*", "which repos: owner/name, owner/*, host/group/** or *")
}

// among returns those that were ever written and that the pattern selects,
// sorted by name. It is an error if there is none, unless all were meant.
func (f *repoFlag) among(ctx context.Context, s store.Rescans) ([]api.Repo, error) {
	pattern, err := auth.ParsePattern(f.pattern)
	if err != nil {
		return nil, err
	}
	all, err := s.Repos(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing repos: %w", err)
	}
	var repos []api.Repo
	for _, repo := range all {
		if pattern.Match(repo) {
			repos = append(repos, repo)
		}
	}
	if len(repos) == 0 && f.pattern != "*" {
		return nil, errors.New("no repo that was ever written has such a name")
	}
	return repos, nil
}
