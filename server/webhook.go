package server

import (
	"errors"
	"net/http"
	"path"

	"github.com/teammem/teammemd/api"
)

// maxHookBody bounds what a forge sends, in bytes. Events about people and
// repositories have some 20 KB.
const maxHookBody = 1 << 20

// webhook takes a message of the forge: a reason to look again at what people
// may. It bears no token: the forge signs it.
func (c *call) webhook() error {
	kind := path.Base(c.r.URL.Path)
	if !c.o.Access.Expects(kind) {
		return noPath()
	}
	if err := c.hooks.spent(c.r); err != nil {
		return err
	}
	body, err := c.readBody(maxHookBody)
	if err != nil {
		return err
	}
	err = c.o.Access.Webhook(c.r.Context(), kind, c.r.Header, body)
	if errors.Is(err, api.ErrForbidden) {
		_ = c.hooks.allow(c.r) // counts the wrong try
	}
	if err != nil {
		return err
	}
	return c.sendJSON(http.StatusOK, struct{}{})
}

// noPath is the answer to every path that the server does not have.
func noPath() error { return api.Errorf(api.ErrNotFound, "there is nothing at this path") }
