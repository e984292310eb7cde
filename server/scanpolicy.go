package server

import (
	"net/http"

	"github.com/teammem/teammemd/api"
)

// scanPolicy answers what a repo's maintainers let pass the scanner.
func (c *call) scanPolicy() error {
	values, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	all, _, err := one(values, "all")
	if err != nil {
		return err
	}
	answer, err := c.core.ScanPolicy(c.r.Context(), at.repo, all == "true")
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}

// allowRule adds an entry; that takes a maintainer.
func (c *call) allowRule() error {
	var request api.PolicyRequest
	at, err := c.readAbout(&request, &request.Repo)
	if err != nil {
		return err
	}
	request.Repo = at.repo
	entry, err := c.core.AllowRule(c.r.Context(), at.role, c.actor(), request)
	if err != nil {
		return err
	}
	return c.sendJSON(http.StatusOK, entry)
}

// endAllow ends an entry; that takes a maintainer.
func (c *call) endAllow() error {
	values, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	id, _, err := one(values, "id")
	if err != nil {
		return err
	}
	if err := c.core.EndAllow(c.r.Context(), at.repo, at.role, c.actor(), id); err != nil {
		return err
	}
	answer, err := c.core.ScanPolicy(c.r.Context(), at.repo, false)
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	return c.sendJSON(http.StatusOK, answer)
}

// scanMarks answers which live entries would be refused today.
func (c *call) scanMarks() error {
	_, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	answer, err := c.core.Marks(c.r.Context(), at.repo, at.role)
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}
