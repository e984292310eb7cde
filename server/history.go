package server

import (
	"net/http"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
)

const (
	defaultHistory = 100
	maxHistory     = 1_000
)

// history answers which versions a key, or a whole repo, has had.
func (c *call) history() error {
	values, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	var key api.Key
	if name, given, err := one(values, "key"); err != nil {
		return err
	} else if given {
		if key, err = parseKey(name); err != nil {
			return err
		}
	}
	limit, given, err := oneNumber(values, "limit")
	if err != nil {
		return err
	}
	if !given || limit == 0 {
		limit = defaultHistory
	}
	answer, err := c.core.History(c.r.Context(), at.repo, key, int(min(limit, maxHistory)))
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	return c.sendJSON(http.StatusOK, answer)
}

// content answers with one key as it was at one version.
func (c *call) content() error {
	values, at, err := c.aboutRepo()
	if err != nil {
		return err
	}
	name, _, err := one(values, "key")
	if err != nil {
		return err
	}
	key, err := parseKey(name)
	if err != nil {
		return err
	}
	version, given, err := oneNumber(values, "version")
	if err != nil {
		return err
	}
	if !given {
		return api.Errorf(api.ErrBadRequest, "the parameter version is missing")
	}
	answer, err := c.core.Content(c.r.Context(), at.repo, key, version)
	if err != nil {
		return err
	}
	answer.Repo = at.asked
	return c.sendJSON(http.StatusOK, answer)
}

// restore puts an earlier version of a key in place again.
func (c *call) restore() error {
	var request api.RestoreRequest
	at, err := c.readAbout(&request, &request.Repo)
	if err != nil {
		return err
	}
	key, err := parseKey(request.Key)
	if err != nil {
		return err
	}
	pushed, err := c.core.Restore(c.r.Context(), core.Push{Repo: at.repo, Actor: c.actor(), Role: at.role}, key, request.Version)
	if err != nil {
		return err
	}
	c.stateHeaders(pushed.View)
	pushed.Repo = at.asked
	return c.sendJSON(http.StatusOK, pushed.PushAnswer)
}
