package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/export"
	"github.com/teammem/teammemd/server/store"
)

func (a *app) exportCommand() *cobra.Command {
	var server serverFlags
	var repos repoFlag
	var format string
	cmd := &cobra.Command{
		Use:   "export PATH",
		Short: "Write memories and their history as git repositories, or as a tar",
		Long: "Write memories and their history to a new place, beside a server that may be\n" +
			"running. As git: PATH/<repo>.git, bare, with a commit for each version whose author\n" +
			"is who wrote it. As tar: the file PATH with <repo>/entries/<key> and\n" +
			"<repo>/history.jsonl. What was redacted is in neither.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "git" && format != "tar" {
				return fmt.Errorf("%w: --format is git or tar", api.ErrUsage)
			}
			return a.export(cmd.Context(), &server, &repos, format, args[0])
		},
	}
	server.register(cmd)
	repos.register(cmd)
	cmd.Flags().StringVar(&format, "format", "git", "git or tar")
	return cmd
}

func (a *app) export(ctx context.Context, flags *serverFlags, which *repoFlag, format, path string) error {
	var sum export.Summary
	err := a.withStore(ctx, flags, func(s store.Backend) error {
		repos, err := which.among(ctx, s)
		if err != nil {
			return err
		}
		if format == "tar" {
			sum, err = exportTar(ctx, s, repos, path)
		} else {
			sum, err = exportGit(ctx, s, repos, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "format": format, "path": path, "repos": sum.Repos, "entries": sum.Entries, "versions": sum.Versions})
	}
	a.printf("exported %d repos, %d entries, %d versions to %s\n", sum.Repos, sum.Entries, sum.Versions, path)
	return nil
}

// taken says that there is something already: nothing is ever written over.
func taken(path string) error {
	return withHint(fmt.Errorf("%w: there is something at %s already", api.ErrUsage, path), "name a place that does not exist yet")
}

// exportGit leaves nothing behind when it fails.
func exportGit(ctx context.Context, s export.Source, repos []api.Repo, path string) (all export.Summary, err error) {
	if err := os.Mkdir(path, 0o700); errors.Is(err, fs.ErrExist) {
		return all, taken(path)
	} else if err != nil {
		return all, fmt.Errorf("exporting: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(path)
		}
	}()
	for _, repo := range repos {
		dir := filepath.Join(path, filepath.FromSlash(repo.String())+".git")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return all, fmt.Errorf("exporting: %w", err)
		}
		one, err := export.Git(ctx, s, repo, dir)
		if err != nil {
			return all, err
		}
		all.Repos, all.Entries, all.Versions = all.Repos+one.Repos, all.Entries+one.Entries, all.Versions+one.Versions
	}
	return all, nil
}

// exportTar leaves nothing behind when it fails.
func exportTar(ctx context.Context, s export.Source, repos []api.Repo, path string) (sum export.Summary, err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return sum, taken(path)
	}
	if err != nil {
		return sum, fmt.Errorf("exporting: %w", err)
	}
	sum, err = export.Tar(ctx, s, repos, file)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		_ = os.Remove(path)
		return sum, fmt.Errorf("exporting to %s: %w", path, err)
	}
	return sum, nil
}
