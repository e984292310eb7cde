package server

import (
	"net/http"

	"github.com/teammem/teammemd/api"
)

const (
	defaultAudit = 100
	maxAudit     = 1_000
)

// audit answers with rows of a repo's chain to its maintainers, and of the server's
// own to administrators.
func (c *call) audit() error {
	values, err := c.query()
	if err != nil {
		return err
	}
	after, _, err := oneNumber(values, "after")
	if err != nil {
		return err
	}
	limit, given, err := oneNumber(values, "limit")
	if err != nil {
		return err
	}
	if !given || limit == 0 {
		limit = defaultAudit
	}
	var at place
	if _, given := values["repo"]; given {
		if _, at, err = c.aboutRepo(); err != nil {
			return err
		}
		if at.role < api.Maintainer {
			return api.Errorf(api.ErrForbidden, "the audit chain is for maintainers of the repo")
		}
	} else if !c.grant.IsAdmin() {
		return api.Errorf(api.ErrForbidden, "the server's own audit chain is for its administrators; name a repo for that repo's")
	}
	answer, err := c.core.Audit(c.r.Context(), at.repo, after, int(min(limit, maxAudit)))
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}
