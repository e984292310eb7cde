package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
)

func (a *app) logoutCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "logout [URL]",
		Short: "End the sign-in of this machine to a server",
		Long: "End the sign-in of this machine to a server, there and here. What 'join' and 'up'\n" +
			"stored for the server is no sign-in and stays, unless --all is given. Other machines\n" +
			"are signed out by 'teammemd signins end'. Without a URL the server is found as by\n" +
			"login.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.logout(cmd.Context(), args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "forget what 'join' and 'up' stored for it, too")
	return cmd
}

func (a *app) logout(ctx context.Context, args []string, all bool) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	server, err := m.server(args)
	if err != nil {
		return err
	}
	gone, revoking, err := m.keeper.Forget(ctx, server, all)
	if err != nil {
		return err
	}
	if revoking != nil {
		a.worse(api.ExitTempFail)
		fmt.Fprintf(a.err, "teammemd: %s was not told: %s; the tokens are forgotten here and live on there until they expire\n", server, oneLine(revoking.Error()))
	}
	if a.json {
		return a.printJSON(struct {
			Schema  int    `json:"schema"`
			Server  string `json:"server"`
			SignIn  bool   `json:"signed_out"`
			Tokens  int    `json:"tokens_forgotten"`
			Stay    int    `json:"tokens_kept"`
			Revoked bool   `json:"revoked"`
		}{schema, server, gone.SignIn, gone.Tokens, gone.Stay, gone.SignIn && revoking == nil})
	}
	switch {
	case gone.SignIn:
		a.printf("signed out of %s\n", server)
	case gone.Tokens == 0:
		a.printf("nobody was signed in to %s\n", server)
	}
	if gone.Tokens > 0 {
		a.printf("forgot %d stored tokens of %s; there they end with 'teammemd server token revoke'\n", gone.Tokens, server)
	}
	if gone.Stay > 0 {
		a.sayf("teammemd: %d tokens that 'join' or 'up' stored for it stay and go on working; 'teammemd logout --all' forgets them\n", gone.Stay)
	}
	return nil
}
