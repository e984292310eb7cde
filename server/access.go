package server

import (
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

// authenticate finds out whose token the request bears.
func (c *call) authenticate() error {
	secret, ok := bearer(c.r.Header["Authorization"])
	if !ok {
		return api.Errorf(api.ErrSignedOut, "a bearer token is needed in the header Authorization")
	}
	grant, err := c.auth.Authenticate(c.r.Context(), secret)
	c.grant = grant
	return err
}

// bearer returns the secret of "Bearer <secret>"; the scheme's case is free.
func bearer(values []string) (string, bool) {
	const scheme = "bearer "
	if len(values) != 1 {
		return "", false
	}
	v := values[0]
	if len(v) <= len(scheme) || !strings.EqualFold(v[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimSpace(v[len(scheme):]), true
}

// place is where a request acts, and in which role.
type place struct {
	asked api.Repo  // as the client calls it, and reads it in the answer
	repo  api.Repo  // under which its data is kept; differs after a rename
	role  api.Role  // at least a reader's
	until time.Time // when it has to be found out again; zero: with the token
}

// access finds out where a request about repo acts. A repo that the caller may
// not read gets the answer of one that does not exist.
func (c *call) access(repo api.Repo) (place, error) {
	at, err := c.decide(repo)
	if err == nil {
		c.repo = repo
	}
	return at, err
}

// decide is access for several repos at a time; none of them is logged.
func (c *call) decide(repo api.Repo) (place, error) {
	d, err := c.o.Access.Decide(c.r.Context(), c.grant, repo)
	if err != nil {
		return place{}, err
	}
	if d.Role < api.Reader {
		return place{}, core.NotFound()
	}
	return place{asked: repo, repo: d.Repo, role: d.Role, until: d.Until}, nil
}

// recheck is for requests that stay open: it finds out again what the token
// allows.
func (c *call) recheck() error {
	grant, err := c.auth.Refresh(c.r.Context(), c.grant)
	if err == nil {
		c.grant = grant
	}
	return err
}

// chargeUpload counts the body of the request against the token's bytes, before
// it is read. One that does not say how long it is counts as the longest; what is
// too long is refused for that.
func (c *call) chargeUpload() error {
	size := c.r.ContentLength
	if size < 0 || size > api.MaxBodyBytes {
		size = api.MaxBodyBytes
	}
	return c.tokens.upload(c.grant.ID, int(size))
}

// charge counts the request against the token's rate.
func (c *call) charge() error { return c.tokens.allow(c.grant.ID) }
