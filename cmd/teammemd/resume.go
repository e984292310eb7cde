package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
	teamsync "github.com/teammem/teammemd/sync"
)

func (a *app) resumeCommand() *cobra.Command {
	var accept, reupload bool
	cmd := &cobra.Command{
		Use:   "resume [PATH]",
		Short: "Go on after the server was restored or replaced",
		Long: "Go on after the server was restored from a backup or replaced. Until then\n" +
			"nothing moves. With --accept-server the server's texts win, and every text here\n" +
			"that differs becomes a saved copy. With --reupload the texts here are sent again.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if accept == reupload {
				return withHint(fmt.Errorf("%w: which side is right?", api.ErrUsage), "give --accept-server or --reupload")
			}
			how := teamsync.AcceptServer
			if reupload {
				how = teamsync.Reupload
			}
			return a.sync(cmd.Context(), args, control.SyncRequest{Resolve: string(how)})
		},
	}
	cmd.Flags().BoolVar(&accept, "accept-server", false, "the server is right; texts here that differ are kept as saved copies")
	cmd.Flags().BoolVar(&reupload, "reupload", false, "this machine is right; its texts are sent again")
	return cmd
}
