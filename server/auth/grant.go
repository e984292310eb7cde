package auth

import (
	"cmp"
	"fmt"
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
	// ExpiresAt is the end of the grant, zero for none.
	ExpiresAt time.Time

	hash    [32]byte
	pattern Pattern
	role    api.Role
}

// Role returns what the grant allows in repo by itself, [api.NoRole] where it
// does not reach. A person's grant allows nothing by itself: what they may is
// found out elsewhere, and [Grant.Bound] bounds it.
func (g Grant) Role(repo api.Repo) api.Role {
	if g.User != "" {
		return api.NoRole
	}
	return g.Bound(repo)
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

// WhoAmI describes the grant to its bearer.
func (g Grant) WhoAmI() api.WhoAmI {
	return api.WhoAmI{Name: g.Name, Repos: g.pattern.String(), Role: g.role, ExpiresAt: g.ExpiresAt}
}

func (g Grant) expired(now time.Time) bool {
	return !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt)
}

// GrantOf returns what a stored token allows, whatever has become of it since.
func GrantOf(t store.Token) (Grant, error) { return grantFrom(t) }

func grantFrom(t store.Token) (Grant, error) {
	if t.User != "" { // the bounds of a sign-in may be left open
		t.Repos, t.Role = cmp.Or(t.Repos, "**"), cmp.Or(t.Role, api.Admin)
	}
	pattern, err := ParsePattern(t.Repos)
	if err != nil {
		return Grant{}, fmt.Errorf("%w: reading token %q: its pattern of repos: %w", api.ErrInternal, t.ID, err)
	}
	return Grant{ID: t.ID, Name: t.Name, User: t.User, ExpiresAt: t.ExpiresAt, hash: t.Hash, pattern: pattern, role: t.Role}, nil
}
