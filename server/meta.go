package server

import (
	"net/http"
	"slices"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/openapi"
)

// Features are what this server offers beyond the base protocol, as
// [api.PathVersion] lists them.
var Features = []string{
	"allowed", "content", "delta", "epoch", "events", "expect", "gzip", "history", "join", "keys", "redacted", "restore",
	"scan-marks", "scan-policy", "search", "tombstones", "wait",
}

// FeatureSignIn is the feature of a server at which people sign in.
const FeatureSignIn = "sign-in"

// whoAmI tells the bearer what the token is taken for, and of the repo that is
// named what it allows there.
func (c *call) whoAmI() error {
	values, err := c.query()
	if err != nil {
		return err
	}
	me := c.grant.WhoAmI()
	if _, given := values["repo"]; given {
		_, at, err := c.aboutRepo()
		if err != nil {
			return err
		}
		me.Repo, me.Role = at.asked.String(), at.role
	}
	if c.grant.User != "" {
		list, _, err := c.ownSignIns("", false)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(list, func(s api.SignIn) bool { return s.Current }); i >= 0 {
			me.SignIn = &list[i]
		}
	}
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, me)
}

func (c *call) version() error {
	features := Features
	if c.o.SignIn != nil {
		features = slices.Sorted(slices.Values(append(slices.Clone(features), FeatureSignIn)))
	}
	return c.sendJSON(http.StatusOK, api.ServerVersion{Name: "teammemd", Version: c.o.Version, Protocol: 1, Features: features})
}

// openAPI answers with the description of the interface.
func (c *call) openAPI() error {
	text, err := openapi.Document(c.o.Version)
	if err != nil {
		return err
	}
	c.sendBytes(http.StatusOK, text)
	return nil
}

// health is the answer of the probes.
type health struct {
	Status string `json:"status"`
}

// live says that the process answers at all.
func (c *call) live() error { return c.sendJSON(http.StatusOK, health{"live"}) }

// Reasons of [api.PathReady], in words.
const (
	reasonDraining = "draining: the server is stopping"
	reasonStore    = "store not readable: the server's log says why"
)

// ready says whether requests should be sent here, and if not, why.
func (c *call) ready() error {
	if c.isDraining() {
		return api.Errorf(api.ErrUnavailable, reasonDraining)
	}
	if err := c.auth.Healthy(c.r.Context()); err != nil {
		c.log.DebugContext(c.r.Context(), "not ready", "request_id", c.id, "error", err)
		return api.Errorf(api.ErrUnavailable, reasonStore)
	}
	return c.sendJSON(http.StatusOK, health{"ready"})
}
