package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	teamsync "github.com/teammem/teammemd/sync"
)

func (a *app) resumeCommand() *cobra.Command {
	var accept, reupload bool
	cmd := &cobra.Command{
		Use:   "resume [PATH]",
		Short: "Go on after a pause, or after the server was restored or replaced",
		Long: "Go on after a pause. After the server was restored from a backup, or replaced,\n" +
			"nothing moves until you say which side is right: with --accept-server the\n" +
			"server's texts win, and every text here that differs becomes a saved copy. With\n" +
			"--reupload the texts here are sent again.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if accept && reupload {
				return withHint(fmt.Errorf("%w: --accept-server and --reupload exclude each other", api.ErrUsage), "see '%s --help'", cmd.CommandPath())
			}
			var how teamsync.Resolution
			switch {
			case accept:
				how = teamsync.AcceptServer
			case reupload:
				how = teamsync.Reupload
			}
			return a.resume(cmd.Context(), args, how)
		},
	}
	cmd.Flags().BoolVar(&accept, "accept-server", false, "the server is right; texts here that differ are kept as saved copies")
	cmd.Flags().BoolVar(&reupload, "reupload", false, "this machine is right; its texts are sent again")
	return cmd
}

func (a *app) resume(ctx context.Context, args []string, how teamsync.Resolution) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	roots, err := m.pick(args)
	if err != nil {
		return err
	}
	ended, err := a.endPauses(ctx, m, roots)
	if err != nil {
		return err
	}
	if how != "" {
		return a.sync(ctx, args, control.SyncRequest{Resolve: string(how)})
	}
	if len(ended) == 0 && a.anyServerChanged(ctx, m, roots) {
		return withHint(fmt.Errorf("%w: the server was restored or replaced: which side is right?", api.ErrUsage), "give --accept-server or --reupload")
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "resumed": ended})
	}
	for _, root := range ended {
		a.printf("resumed  %s  %s\n", root.Repo, a.tilde(root.Root))
	}
	if len(ended) == 0 {
		a.printf("nothing was paused\n")
	}
	return nil
}

// anyServerChanged reports whether one of roots waits for a word about its
// server. What cannot be found out is not waited for.
func (a *app) anyServerChanged(ctx context.Context, m machine, roots []config.Root) bool {
	status, _, err := a.statusNow(ctx, m)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(status.Roots, func(r control.RootStatus) bool {
		return r.State == string(teamsync.ServerChanged) && slices.ContainsFunc(roots, func(root config.Root) bool { return root.Dir == r.Root })
	})
}
