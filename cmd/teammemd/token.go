package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/auth"
)

func (a *app) tokenCommand() *cobra.Command {
	return group("token", "Make, list and revoke service tokens, also while the server runs",
		a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
}

// tokenRequest is what a new token is to be.
type tokenRequest struct {
	name, repo, role, expires string
}

func (a *app) tokenCreateCommand() *cobra.Command {
	var server serverFlags
	var r tokenRequest
	cmd := &cobra.Command{
		Use:   "create --name NAME --repo PATTERN --role ROLE [--expires WHEN]",
		Short: "Make a token and print it once, alone on the last line",
		Long: "Make a token and print it once, alone on the last line of the output.\n\n" +
			"PATTERN is owner/name, owner/*, host/group/** or *. ROLE is reader, writer,\n" +
			"maintainer or admin. WHEN is 90d, 2w, 12h or 30m from now, a date (its beginning,\n" +
			"UTC) or a time as in RFC 3339; without it the token has no end.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.createToken(cmd.Context(), &server, r) },
	}
	server.register(cmd)
	cmd.Flags().StringVar(&r.name, "name", "", "who or what will bear the token")
	cmd.Flags().StringVar(&r.repo, "repo", "", "pattern of repos")
	cmd.Flags().StringVar(&r.role, "role", "", "reader, writer, maintainer or admin")
	cmd.Flags().StringVar(&r.expires, "expires", "", "end of the token's life (default never)")
	return cmd
}

// check judges a request before any file is touched.
func (r tokenRequest) check(now time.Time) (role api.Role, expires time.Time, err error) {
	var missing []string
	for _, flag := range []struct{ name, value string }{{"--name", r.name}, {"--repo", r.repo}, {"--role", r.role}} {
		if strings.TrimSpace(flag.value) == "" {
			missing = append(missing, flag.name)
		}
	}
	if len(missing) > 0 {
		return api.NoRole, time.Time{}, withHint(fmt.Errorf("%w: missing %s", api.ErrUsage, strings.Join(missing, ", ")), "see 'teammemd server token create --help'")
	}
	if _, err := auth.ParsePattern(r.repo); err != nil {
		return api.NoRole, time.Time{}, err
	}
	if role, err = api.ParseRole(r.role); err != nil {
		return api.NoRole, time.Time{}, err
	}
	expires, err = parseExpiry(r.expires, now)
	return role, expires, err
}

func (a *app) createToken(ctx context.Context, server *serverFlags, r tokenRequest) error {
	role, expires, err := r.check(time.Now())
	if err != nil {
		return err
	}
	place, err := server.loadStore(a)
	if err != nil {
		return err
	}
	var t auth.Token
	var secret string
	err = a.withTokens(ctx, place, func(tokens *auth.Auth) error {
		t, secret, err = tokens.Create(ctx, r.name, r.repo, role, expires)
		return err
	})
	if err != nil {
		return err
	}
	if a.json {
		answer := describeToken(t)
		return a.printJSON(struct {
			Schema int `json:"schema"`
			tokenInfo
			Token string `json:"token"`
		}{schema, answer, secret})
	}
	a.sayf("token %s (%s): %s in %s, %s. It is shown only once:\n", t.ID, t.Name, t.Role, t.Repos, endOf(t))
	a.printf("%s\n", secret)
	return nil
}

// tokenInfo is what may be shown of a token.
type tokenInfo struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Repo      string     `json:"repo"`
	Role      api.Role   `json:"role"`
	ExpiresAt *time.Time `json:"expires_at"` // null = never
}

func describeToken(t auth.Token) tokenInfo {
	return tokenInfo{ID: t.ID, Name: t.Name, Repo: t.Repos, Role: t.Role, ExpiresAt: timeOrNil(t.ExpiresAt)}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func endOf(t auth.Token) string {
	if t.ExpiresAt.IsZero() {
		return "without end"
	}
	return "until " + t.ExpiresAt.UTC().Format(time.RFC3339)
}

// withTokens opens the tokens of a store, beside a server that may be running on
// it.
func (a *app) withTokens(ctx context.Context, place config.Server, use func(*auth.Auth) error) error {
	backend, err := openBeside(ctx, place)
	if err != nil {
		return err
	}
	err = use(auth.New(backend, auth.Options{Audit: auditAsAdmin(backend)}))
	if closing := backend.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("closing the store in %q: %w", storeName(place), closing))
	}
	return err
}

// hasStore reports whether there is a directory at all, so that verbs that only
// look do not make one.
func hasStore(place config.Server) (bool, error) {
	if place.Database.URL != "" {
		return true, nil
	}
	return isDir(place.Data)
}

func isDir(path string) (bool, error) {
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking for the store: %w", err)
	}
	return true, nil
}
