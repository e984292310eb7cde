package server

import (
	"net/http"
	"strings"

	"github.com/teammem/teammemd/api"
)

// join answers a single-use code with a token.
func (c *call) join() error {
	if err := c.joins.allow(c.r); err != nil {
		return err
	}
	var request api.JoinRequest
	if err := c.readJSON(&request); err != nil {
		return err
	}
	if strings.TrimSpace(request.Code) == "" {
		return api.Errorf(api.ErrBadRequest, "the member code is missing")
	}
	device := c.core.CleanText(c.r.Context(), api.CleanText(request.Device, api.MaxActorBytes))
	joined, err := c.auth.Redeem(c.r.Context(), request.Code, device)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "no-store")
	return c.sendJSON(http.StatusOK, api.JoinAnswer{Token: joined.Secret, Repo: joined.Repo, Role: joined.Role})
}

// newJoinCode makes a code; that takes a maintainer.
func (c *call) newJoinCode() error {
	var request api.JoinCodeRequest
	at, err := c.readAbout(&request, &request.Repo)
	if err != nil {
		return err
	}
	if at.role < api.Maintainer {
		return api.Errorf(api.ErrForbidden, "inviting is for maintainers of the repo")
	}
	answer, err := c.auth.NewJoinCode(c.r.Context(), at.repo)
	if err != nil {
		return err
	}
	c.w.Header().Set("Cache-Control", "no-store")
	return c.sendJSON(http.StatusOK, answer)
}
