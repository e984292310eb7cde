package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Grant is what one token allows. It is a value: it does not change when the
// token is revoked, so use it for one request, or [Auth.Refresh] it.
type Grant struct {
	// ID is the token's id, Name what it was called when it was made.
	ID, Name string
	// ExpiresAt is the end of the grant, zero for none.
	ExpiresAt time.Time
	// User is the id of the account that signed in, "" for a service token.
	User string
	// Family is the sign-in that the token is of, "" for a service token.
	Family string

	hash    [32]byte
	pattern Pattern
	role    api.Role
	user    store.User // as of the load; zero without User
}

// Account is the person who signed in, the zero value for a service token.
func (g Grant) Account() store.User { return g.user }

// Bound is the most that the token allows in repo, whoever bears it:
// [api.NoRole] where it does not reach.
func (g Grant) Bound(repo api.Repo) api.Role {
	if !g.pattern.Match(repo) {
		return api.NoRole
	}
	return g.role
}

// Role returns what the grant allows in repo by itself, [api.NoRole] where it
// does not reach: for a user what their memberships give. [Auth.Role] adds what
// policies give.
func (g Grant) Role(repo api.Repo) api.Role {
	bound := g.Bound(repo)
	if g.User == "" {
		return bound
	}
	i := slices.IndexFunc(g.user.Member, func(m store.Membership) bool { return m.Repo == repo })
	if i < 0 {
		return api.NoRole
	}
	return min(bound, g.user.Member[i].Role)
}

// IsAdmin reports whether the grant is an administrator's of the whole server.
func (g Grant) IsAdmin() bool { return g.User == "" && g.pattern.all && g.role == api.Admin }

// WhoAmI describes the grant to its bearer.
func (g Grant) WhoAmI() api.WhoAmI {
	me := api.WhoAmI{Name: g.Name, Repos: g.pattern.String(), Role: g.role, ExpiresAt: g.ExpiresAt}
	if g.User != "" {
		me.User, me.Login, me.Issuer = g.User, g.user.Login, g.user.Issuer
		me.Role = api.NoRole // it differs from repo to repo
	}
	return me
}

func (g Grant) expired(now time.Time) bool {
	return !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// Role returns what the grant allows in repo: for a user the most of memberships
// and [Options.Access], within the token's bounds.
func (a *Auth) Role(ctx context.Context, g Grant, repo api.Repo) (api.Role, error) {
	own, bound := g.Role(repo), g.Bound(repo)
	if g.User == "" || a.access == nil || own >= bound {
		return own, nil
	}
	role, err := a.access(ctx, g.user, repo)
	if err != nil {
		return own, fmt.Errorf("finding out what user %q may do: %w", g.User, err)
	}
	return max(own, min(bound, role)), nil
}

func grantFrom(t store.Token) (Grant, error) {
	g := Grant{ID: t.ID, Name: t.Name, ExpiresAt: t.ExpiresAt, User: t.User, Family: t.Family, hash: t.Hash, role: t.Role}
	repos := t.Repos
	if t.User != "" && repos == "" {
		repos = "*"
	}
	if t.User != "" && t.Role == api.NoRole {
		g.role = api.Admin
	}
	var err error
	if g.pattern, err = ParsePattern(repos); err != nil {
		return Grant{}, fmt.Errorf("%w: reading token %q: its pattern of repos: %w", api.ErrInternal, t.ID, err)
	}
	return g, nil
}

// grantFor is grantFrom with the person behind the token.
func (a *Auth) grantFor(ctx context.Context, t store.Token) (Grant, error) {
	g, err := grantFrom(t)
	if err != nil || t.User == "" {
		return g, err
	}
	if a.accounts == nil {
		return Grant{}, signedOut()
	}
	g.user, err = a.accounts.User(ctx, t.User)
	switch {
	case errors.Is(err, store.ErrNoUser):
		return Grant{}, signedOut()
	case err != nil:
		return Grant{}, unavailable(err)
	}
	return g, nil
}

// noteUse records the first use of a sign-in's token. It reports whether there
// is nothing left to record. A store that cannot be written to does not keep
// people from reading.
func (a *Auth) noteUse(ctx context.Context, t store.Token) bool {
	now := a.now()
	late := !t.ExpiresAt.IsZero() && !now.Before(t.ExpiresAt)
	if t.User == "" || !t.Used.IsZero() || late || a.accounts == nil {
		return true
	}
	if err := a.accounts.UseToken(ctx, t.ID, now.UTC()); err != nil {
		a.log.WarnContext(ctx, "first use of a token was not recorded", "id", t.ID, "error", err)
		return false
	}
	return true
}
