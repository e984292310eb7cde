package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func (a *app) initCommand() *cobra.Command {
	var r registration
	var yes bool
	cmd := &cobra.Command{
		Use:   "init [PATH]",
		Short: "Register a checkout",
		Long:  "Register a checkout's team directory with a server. Nothing is sent: the first\nsync is the daemon's, or yours.",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.path = pathArg(args)
			return a.init(cmd.Context(), r, yes)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVar(&r.server, "server", "", "the server's URL")
	cmd.Flags().StringVar(&r.tokenFile, "token-file", "", "a file that holds the bearer token")
	cmd.Flags().BoolVar(&yes, "yes", false, "register without asking")
	return cmd
}

func (a *app) init(ctx context.Context, r registration, yes bool) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	if r.server == "" {
		r.server = m.client.Config.Server
	}
	if r.server == "" {
		return withHint(fmt.Errorf("%w: which server?", api.ErrUsage), "give --server URL, or set server in %s", m.paths.ConfigFile)
	}
	root, err := a.resolve(m, r)
	if err != nil {
		return err
	}
	if !yes && isTerminal(a.in) && isTerminal(a.err) {
		if err := a.confirm(root); err != nil {
			return err
		}
	}
	root, err = a.register(m, root)
	if err != nil {
		return err
	}
	if err := a.tellDaemon(ctx, m); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "repo": root.Repo, "root": root.Dir, "server": root.Server})
	}
	a.printf("registered  %s  %s\n", root.Repo, root.Dir)
	return nil
}

// confirm asks a person at a terminal.
func (a *app) confirm(root config.Root) error {
	fmt.Fprintf(a.err, "  server    %s\n  repo      %s\n  team dir  %s\nRegister it? [Y/n] ", root.Server, root.Repo, root.Dir)
	var answer string
	_, _ = fmt.Fscanln(a.in, &answer) // an empty line is an error to Fscanln and a yes to us
	if answer = strings.ToLower(answer); answer == "" || answer == "y" || answer == "yes" {
		return nil
	}
	return fmt.Errorf("%w: not registered", api.ErrUsage)
}
