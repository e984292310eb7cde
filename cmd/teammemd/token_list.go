package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/auth"
)

func (a *app) tokenListCommand() *cobra.Command {
	var server serverFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all tokens, oldest first; secrets are not kept and never shown",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.listTokens(cmd.Context(), &server) },
	}
	server.register(cmd)
	return cmd
}

// tokenRow is one token in a list.
type tokenRow struct {
	tokenInfo
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
	State     string     `json:"state"` // live, expired or revoked
}

func rowOf(t auth.Token, now time.Time) tokenRow {
	return tokenRow{tokenInfo: describeToken(t), CreatedAt: t.CreatedAt, RevokedAt: timeOrNil(t.RevokedAt), State: tokenState(t, now)}
}

func tokenState(t auth.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt):
		return "expired"
	}
	return "live"
}

func (a *app) listTokens(ctx context.Context, server *serverFlags) error {
	place, err := server.loadStore(a)
	if err != nil {
		return err
	}
	tokens, err := a.tokensIn(ctx, place)
	if err != nil {
		return err
	}
	now := time.Now()
	rows := make([]tokenRow, 0, len(tokens))
	for _, t := range tokens {
		rows = append(rows, rowOf(t, now))
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "tokens": rows})
	}
	if len(rows) == 0 {
		a.sayf("there are no tokens in %s\n", storeName(place))
		return nil
	}
	return a.printTokens(rows)
}

// tokensIn lists the tokens of a store, none where there is no store.
func (a *app) tokensIn(ctx context.Context, place config.Server) (tokens []auth.Token, err error) {
	if found, err := hasStore(place); err != nil || !found {
		return nil, err
	}
	err = a.withTokens(ctx, place, func(all *auth.Auth) error {
		tokens, err = all.List(ctx)
		return err
	})
	return tokens, err
}

func (a *app) printTokens(rows []tokenRow) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tNAME\tREPO\tROLE\tCREATED\tEXPIRES\tSTATE")
	for _, r := range rows {
		expires := "never"
		if r.ExpiresAt != nil {
			expires = r.ExpiresAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.Name, r.Repo, r.Role, r.CreatedAt.UTC().Format(time.RFC3339), expires, r.State)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the list of tokens: %w", err)
	}
	return nil
}
