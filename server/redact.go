package server

import (
	"net/http"

	"github.com/teammem/teammemd/api"
)

// redact takes contents away for good; that takes a maintainer.
func (c *call) redact() error {
	var request api.RedactRequest
	at, err := c.readAbout(&request, &request.Repo)
	if err != nil {
		return err
	}
	request.Repo = at.repo
	answer, err := c.core.Redact(c.r.Context(), at.role, c.actor(), request)
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}

// redactions tells of what was redacted, and which checkouts have cleaned up; that
// takes a maintainer.
func (c *call) redactions() error {
	values, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	id, _, err := oneNumber(values, "id")
	if err != nil {
		return err
	}
	answer, err := c.core.Redactions(c.r.Context(), at.role, at.repo, id)
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}
