package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) joinCommand() *cobra.Command {
	var r registration
	var code string
	cmd := &cobra.Command{
		Use:   "join URL [PATH]",
		Short: "Join a team: sign in, register this checkout, sync once",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.server, r.path = args[0], pathArg(args[1:])
			return a.join(cmd.Context(), r, code)
		},
	}
	r.flags(cmd)
	cmd.Flags().StringVar(&code, "code", "", "the code that a teammate was given; asked for on a terminal")
	return cmd
}

func (a *app) join(ctx context.Context, r registration, code string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	root, err := a.resolve(m, r)
	if err != nil {
		return err
	}
	if code == "" {
		if code, err = a.askCode(); err != nil {
			return err
		}
	}
	withdraw, err := makePlace(m, root)
	if err != nil {
		return err
	}
	if err := a.redeem(ctx, m, &root, r, code); err != nil {
		withdraw()
		return err
	}
	before := a.movedBefore(ctx, m)
	if root, err = a.register(m, root); err != nil {
		return err
	}
	if err := a.tellDaemon(ctx, m); err != nil {
		return err
	}
	if isLoopback(root.Server) {
		a.sayf("teammemd: %s is this machine only; teammates elsewhere need a server that they can reach\n", root.Server)
	}
	report, err := a.syncRoot(ctx, m, root, control.SyncRequest{Root: root.ID})
	if err != nil {
		return err
	}
	report = movedSince(report, before[root.Dir])
	a.worse(exitOf(report))
	if a.json {
		a.complain(report)
		return a.printJSON(report)
	}
	a.printf("  server    %s\n  repo      %s\n  team dir  %s\n", root.Server, root.Repo, a.tilde(root.Dir))
	a.printReport(report)
	return nil
}

// makePlace makes the team directory and sees that it can be registered, so that
// no code is spent in vain. withdraw takes back what was made.
func makePlace(m machine, root config.Root) (withdraw func(), err error) {
	err = config.CheckFree(m.paths, root)
	if taken, ok := errors.AsType[*config.TakenError](err); ok && !taken.Nested {
		// The same again is no error; a checkout that has no name yet may get that
		// of the holder.
		if taken.Holder.Repo == root.Repo || unnamed(root.Repo) {
			err = nil
		}
	}
	if err != nil {
		return nil, err
	}
	_, missing := os.Stat(root.Dir)
	if err := makeTeamDir(root.Dir); err != nil {
		return nil, err
	}
	return func() {
		if missing != nil {
			_ = os.Remove(root.Dir) // nothing is in it but what others put there: then it stays
		}
	}, nil
}

// unnamed reports whether a repo is only what a checkout without a remote that
// counts is called here.
func unnamed(repo api.Repo) bool { return strings.HasPrefix(repo.String(), "local/") }

// redeem spends the code and stores the token. The code names one repo; it must
// be that of the checkout.
func (a *app) redeem(ctx context.Context, m machine, root *config.Root, r registration, code string) error {
	client, err := remote.New(remote.Options{URL: root.Server, Repo: root.Repo, UserAgent: "teammemd/" + versionText()})
	if err != nil {
		return err
	}
	joined, err := client.Join(ctx, code, deviceName())
	if err != nil {
		if code := api.ExitCode(err); code == api.ExitSignIn || code == api.ExitNoAccess {
			return withHint(&relayed{errorText(err), err}, "a code works once, for 15 minutes, and dies after five wrong tries")
		}
		return err
	}
	if joined.Repo != root.Repo && r.repo == "" && unnamed(root.Repo) {
		root.Repo = joined.Repo // a checkout without a remote that counts takes the invitation's word
	}
	if err := config.CredentialsAt(m.paths).SaveToken(root.Server, joined.Repo, joined.Token); err != nil {
		return err
	}
	if joined.Repo != root.Repo {
		return withHint(fmt.Errorf("%w: the code is for %s, this checkout is %s", api.ErrUsage, joined.Repo, root.Repo),
			"the sign-in is kept: run 'teammemd init --server %s' in a checkout of %s, or with --repo", root.Server, joined.Repo)
	}
	return nil
}

func (a *app) askCode() (string, error) {
	if !isTerminal(a.in) {
		return "", withHint(fmt.Errorf("%w: which code?", api.ErrUsage), "give --code; a teammate gets one from 'teammemd up' or from the server's maintainer")
	}
	fmt.Fprint(a.err, "Code: ")
	line, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil && line == "" {
		return "", errors.Join(fmt.Errorf("%w: which code?", api.ErrUsage), err)
	}
	return strings.TrimSpace(line), nil
}

// isLoopback reports whether a server can be reached from its own machine only.
func isLoopback(server string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
