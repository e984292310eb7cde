package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
)

func (a *app) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout [URL]",
		Short: "End the sign-in to a server and forget its tokens",
		Long: "End the sign-in to a server, there and here, and forget what 'join' and 'up'\n" +
			"stored for it. Without a URL the server is found as by login.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.logout(cmd.Context(), args) },
	}
}

func (a *app) logout(ctx context.Context, args []string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	server, err := m.server(args)
	if err != nil {
		return err
	}
	gone, revoking, err := m.keeper.Forget(ctx, server)
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
			Revoked bool   `json:"revoked"`
		}{schema, server, gone.SignIn, gone.Tokens, gone.SignIn && revoking == nil})
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
	return nil
}
