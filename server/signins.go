package server

import (
	"context"
	"net/http"

	"github.com/teammem/teammemd/api"
)

// SignIns lists and ends the sign-ins of people.
type SignIns interface {
	// List returns the live ones of the user with this id, oldest first, of all people
	// for "".
	List(ctx context.Context, user string) ([]api.SignIn, error)
	// End ends one; admin names the token of the administrator who does, "" for the
	// person.
	End(ctx context.Context, one api.SignIn, admin string) error
	// Find returns the id of the user that an id or login means. The error wraps
	// [api.ErrNotFound], or [api.ErrBadRequest].
	Find(ctx context.Context, name string) (id string, err error)
}

// ownSignIns returns the live sign-ins that a request is about: those of whoever
// asks, or of the person that an administrator names. A service token has none.
func (c *call) ownSignIns(name string, given bool) (list []api.SignIn, admin string, err error) {
	user := c.grant.User
	switch {
	case given && c.grant.IsAdmin():
		admin = c.grant.Name
	case given && name != user:
		return nil, "", api.Errorf(api.ErrForbidden, "the sign-ins of others are for administrators of the server")
	}
	if c.o.SignIns == nil || user == "" && admin == "" {
		return []api.SignIn{}, admin, nil
	}
	if admin != "" && name != "" {
		if user, err = c.o.SignIns.Find(c.r.Context(), name); err != nil {
			return nil, "", err
		}
	}
	if list, err = c.o.SignIns.List(c.r.Context(), user); err != nil {
		return nil, "", err
	}
	for i := range list {
		list[i].Current = list[i].ID == c.grant.Family
	}
	return list, admin, nil
}

// signIns lists sign-ins.
func (c *call) signIns() error {
	values, err := c.query()
	if err != nil {
		return err
	}
	name, given, err := one(values, "user")
	if err != nil {
		return err
	}
	list, _, err := c.ownSignIns(name, given)
	if err != nil {
		return err
	}
	c.w.Header()["Cache-Control"] = private
	return c.sendJSON(http.StatusOK, api.SignInsAnswer{SignIns: list})
}

// Which of several sign-ins a DELETE means.
const (
	allSignIns   = "all"
	otherSignIns = "others" // but the one that asks
)

// endSignIns ends one sign-in, or several. What is open with them ends with the
// next look at the credentials.
func (c *call) endSignIns() error {
	values, err := c.query()
	if err != nil {
		return err
	}
	name, given, err := one(values, "user")
	if err != nil {
		return err
	}
	id, _, err := one(values, "id")
	if err != nil {
		return err
	}
	if id == "" || given && name == "" {
		return api.Errorf(api.ErrBadRequest, "the parameter id names a sign-in, or is all or others; the parameter user is not empty")
	}
	list, admin, err := c.ownSignIns(name, given)
	if err != nil {
		return err
	}
	ended := []api.SignIn{}
	for _, s := range list {
		if s.ID != id && id != allSignIns && (id != otherSignIns || s.Current) {
			continue
		}
		if err := c.o.SignIns.End(c.r.Context(), s, admin); err != nil {
			return err
		}
		ended = append(ended, s)
	}
	if len(ended) == 0 && id != allSignIns && id != otherSignIns {
		return api.Errorf(api.ErrNotFound, "there is no such sign-in")
	}
	return c.sendJSON(http.StatusOK, api.SignInsAnswer{SignIns: ended})
}
