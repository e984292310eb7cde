package server

import (
	"net/http"

	"github.com/teammem/teammemd/api"
)

const (
	defaultFound = 20
	maxFound     = 100
	maxOffset    = 1_000
)

// search answers which live entries of a repo a query finds.
func (c *call) search() error {
	values, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	query, _, err := one(values, "q")
	if err != nil {
		return err
	}
	limit, given, err := oneNumber(values, "limit")
	if err != nil {
		return err
	}
	if !given || limit == 0 {
		limit = defaultFound
	}
	offset, _, err := oneNumber(values, "offset")
	if err != nil {
		return err
	}
	if offset > maxOffset {
		return api.Errorf(api.ErrBadRequest, "the parameter offset is at most %d: ask more narrowly", maxOffset)
	}
	answer, err := c.core.Search(c.r.Context(), at.repo, query, int(min(limit, maxFound)), int(offset))
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, answer)
}
