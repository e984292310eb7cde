package auth

import (
	"cmp"
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
	// User is the id of the person who signed in, "" for a service token.
	User string
	// Family is the sign-in that the token is of, "" for a service token.
	Family string
	// ExpiresAt is the end of the grant, zero for none.
	ExpiresAt time.Time

	hash    [32]byte
	pattern Pattern
	role    api.Role
	account *store.User // as the token was read; nil where nobody is known. Not to be changed
}

// Account is the person who signed in, the zero value for a service token.
func (g Grant) Account() store.User {
	if g.account == nil {
		return store.User{}
	}
	return *g.account
}

// Role returns what the grant allows in repo by itself, [api.NoRole] where it
// does not reach: for a person what join codes gave them. What else they may is
// found out elsewhere, and [Grant.Bound] bounds it.
func (g Grant) Role(repo api.Repo) api.Role {
	bound := g.Bound(repo)
	if g.User == "" {
		return bound
	}
	member := g.Account().Member
	i := slices.IndexFunc(member, func(m store.Membership) bool { return m.Repo == repo })
	if i < 0 {
		return api.NoRole
	}
	return min(bound, member[i].Role)
}

// Bound returns the most that the grant can allow in repo, whoever bears it.
func (g Grant) Bound(repo api.Repo) api.Role {
	if !g.pattern.Match(repo) {
		return api.NoRole
	}
	return g.role
}

// Only returns the one repo that the grant is for, if it is for one alone.
func (g Grant) Only() (api.Repo, bool) { return g.pattern.only() }

// IsAdmin reports whether the grant is an administrator's of the whole server.
func (g Grant) IsAdmin() bool { return g.User == "" && g.pattern.all && g.role == api.Admin }

// WhoAmI describes the grant to its bearer.
func (g Grant) WhoAmI() api.WhoAmI {
	me := api.WhoAmI{Name: g.Name, Repos: g.pattern.String(), Role: g.role, ExpiresAt: g.ExpiresAt}
	if g.User != "" {
		account := g.Account()
		me.User, me.Login, me.Issuer = g.User, account.Login, account.Issuer
		me.Role = api.NoRole // it differs from repo to repo
	}
	return me
}

func (g Grant) expired(now time.Time) bool {
	return !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// GrantOf returns what a stored token allows, whatever has become of it since.
// It knows nothing of a person but their id.
func GrantOf(t store.Token) (Grant, error) { return grantFrom(t) }

func grantFrom(t store.Token) (Grant, error) {
	if t.User != "" { // the bounds of a sign-in may be left open
		t.Repos, t.Role = cmp.Or(t.Repos, "**"), cmp.Or(t.Role, api.Admin)
	}
	pattern, err := ParsePattern(t.Repos)
	if err != nil {
		return Grant{}, fmt.Errorf("%w: reading token %q: its pattern of repos: %w", api.ErrInternal, t.ID, err)
	}
	return Grant{ID: t.ID, Name: t.Name, User: t.User, Family: t.Family, ExpiresAt: t.ExpiresAt, hash: t.Hash, pattern: pattern, role: t.Role}, nil
}

// grantFor is grantFrom with the person behind the token.
func (a *Auth) grantFor(ctx context.Context, t store.Token) (Grant, error) {
	g, err := grantFrom(t)
	if err != nil || t.User == "" {
		return g, err
	}
	if a.accounts == nil {
		return g, nil // nobody can be found out, so they have no membership
	}
	account, err := a.accounts.User(ctx, t.User)
	switch {
	case errors.Is(err, store.ErrNoUser):
		return Grant{}, signedOut()
	case err != nil:
		return Grant{}, unavailable(err)
	}
	g.account = &account
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
