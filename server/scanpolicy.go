package server

import (
	"net/http"

	"github.com/teammem/teammemd/api"
)

// scanPolicy answers what a repo's maintainers let pass the scanner.
func (c *call) scanPolicy() error {
	values, repo, _, err := c.aboutRepo()
	if err != nil {
		return err
	}
	all, _, err := one(values, "all")
	if err != nil {
		return err
	}
	answer, err := c.core.ScanPolicy(c.r.Context(), repo, all == "true")
	if err != nil {
		return err
	}
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}

// allowRule adds an entry; that takes a maintainer.
func (c *call) allowRule() error {
	var request api.PolicyRequest
	if err := c.readJSON(&request); err != nil {
		return err
	}
	if request.Repo.IsZero() {
		return api.Errorf(api.ErrRepoInvalid, "the member repo is missing")
	}
	role, err := c.access(request.Repo)
	if err != nil {
		return err
	}
	entry, err := c.core.AllowRule(c.r.Context(), role, c.actor(), request)
	if err != nil {
		return err
	}
	return c.sendJSON(http.StatusOK, entry)
}

// endAllow ends an entry; that takes a maintainer.
func (c *call) endAllow() error {
	values, repo, role, err := c.aboutRepo()
	if err != nil {
		return err
	}
	id, _, err := one(values, "id")
	if err != nil {
		return err
	}
	if err := c.core.EndAllow(c.r.Context(), repo, role, c.actor(), id); err != nil {
		return err
	}
	answer, err := c.core.ScanPolicy(c.r.Context(), repo, false)
	if err != nil {
		return err
	}
	return c.sendJSON(http.StatusOK, answer)
}

// scanMarks answers which live entries would be refused today.
func (c *call) scanMarks() error {
	_, repo, role, err := c.aboutRepo()
	if err != nil {
		return err
	}
	answer, err := c.core.Marks(c.r.Context(), repo, role)
	if err != nil {
		return err
	}
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}
