package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
)

func (a *app) tokenRevokeCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "End a token; a running server follows within a second",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.revokeToken(cmd.Context(), &server, args[0]) },
	}
	server.register(cmd)
	return cmd
}

func (a *app) revokeToken(ctx context.Context, server *serverFlags, wanted string) error {
	place, err := server.loadStore(a)
	if err != nil {
		return err
	}
	found, err := hasStore(place)
	switch {
	case err != nil:
		return err
	case !found:
		return noSuchToken()
	}
	var t auth.Token
	err = a.withTokens(ctx, place, func(tokens *auth.Auth) error {
		all, err := tokens.List(ctx)
		if err != nil {
			return err
		}
		if t, err = pickToken(all, wanted); err != nil {
			return err
		}
		return tokens.Revoke(ctx, t.ID)
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "id": t.ID, "name": t.Name, "state": "revoked"})
	}
	a.printf("revoked %s (%s)\n", t.ID, t.Name)
	return nil
}

// pickToken returns the token that wanted means: the one with this id, else the
// one live token of this name, else the last one that had it.
func pickToken(all []auth.Token, wanted string) (auth.Token, error) {
	var live, ended []auth.Token
	for _, t := range all {
		switch {
		case t.ID == wanted:
			return t, nil
		case t.Name != wanted:
		case t.RevokedAt.IsZero():
			live = append(live, t)
		default:
			ended = append(ended, t)
		}
	}
	switch {
	case len(live) == 1:
		return live[0], nil
	case len(live) > 1:
		ids := make([]string, len(live))
		for i, t := range live {
			ids[i] = t.ID
		}
		slices.Sort(ids)
		return auth.Token{}, withHint(fmt.Errorf("%w: %d live tokens have this name", api.ErrUsage, len(live)), "name one by its id: %s", strings.Join(ids, ", "))
	case len(ended) > 0:
		return ended[len(ended)-1], nil
	}
	return auth.Token{}, noSuchToken()
}

var errNoSuchToken = errors.New("no token has this id or name")

// noSuchToken does not repeat the argument: it may be a secret, pasted by
// mistake.
func noSuchToken() error {
	return withHint(errNoSuchToken, "see 'teammemd server token list'")
}
