package server

import (
	"strings"

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

// access returns the caller's role in repo, at least that of a reader. A repo
// that the caller may not read gets the answer of one that does not exist.
func (c *call) access(repo api.Repo) (api.Role, error) {
	role := c.grant.Role(repo)
	if role < api.Reader {
		return api.NoRole, core.NotFound()
	}
	c.saw(repo)
	return role, nil
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
