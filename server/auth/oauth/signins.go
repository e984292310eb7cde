package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// SignIns lists and ends the sign-ins of people. Accounts is required. Safe for
// concurrent use.
type SignIns struct {
	Accounts store.Accounts
	// Audit records each end. Default: nobody does.
	Audit func(ctx context.Context, e store.Event) error
	// Forget is called after each end, for what remembers tokens.
	Forget func()
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

func (s SignIns) now() time.Time {
	if s.Now == nil {
		return time.Now().UTC().Truncate(time.Millisecond)
	}
	return s.Now().UTC().Truncate(time.Millisecond)
}

// List returns the live sign-ins of the user with this id, oldest first, of all
// people for "".
func (s SignIns) List(ctx context.Context, user string) ([]api.SignIn, error) {
	families, err := s.Accounts.Families(ctx, user)
	if err != nil {
		return nil, err
	}
	logins := map[string]string{}
	list := []api.SignIn{}
	for _, f := range families {
		if f.User == "" || !s.now().Before(f.ExpiresAt) { // a machine's, or over
			continue
		}
		login, known := logins[f.User]
		if !known {
			u, err := s.Accounts.User(ctx, f.User)
			if err != nil && !errors.Is(err, store.ErrNoUser) {
				return nil, err
			}
			login = u.Login
			logins[f.User] = login
		}
		list = append(list, api.SignIn{
			ID: f.ID, Device: f.Device, Client: f.Client, User: f.User, Login: login, Address: f.Address,
			CreatedAt: f.CreatedAt, UsedAt: f.RotatedAt, ExpiresAt: f.ExpiresAt,
		})
	}
	return list, nil
}

// End ends one for good, with its tokens and what is open with them, and records
// who did: "" for the person, else what the administrator's token is called.
func (s SignIns) End(ctx context.Context, one api.SignIn, admin string) error {
	now := s.now()
	why := map[string]string{"by": "self", "sign_in": one.ID}
	if admin != "" {
		why["by"], why["admin"] = "admin", admin
	}
	if err := s.Accounts.RevokeFamily(ctx, one.ID, "signed out by "+why["by"], now); err != nil {
		return err
	}
	if s.Forget != nil {
		s.Forget()
	}
	if s.Audit == nil {
		return nil
	}
	detail, err := json.Marshal(why)
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	// The row is the person's, so that erasing them takes it along.
	return s.Audit(context.WithoutCancel(ctx), store.Event{
		Action: store.ActionSignOut, Actor: api.Actor{User: one.User, Device: one.Device}, At: now, Detail: string(detail),
	})
}

// Find returns the id of the user that a name means: an id, or a login that one
// person has. The error wraps [api.ErrNotFound], or [api.ErrBadRequest] where
// several have it.
func (s SignIns) Find(ctx context.Context, name string) (id string, err error) {
	all, err := s.Accounts.Users(ctx)
	if err != nil {
		return "", err
	}
	for _, u := range all {
		switch {
		case u.ID == name:
			return u.ID, nil
		case u.Login != name:
		case id != "":
			return "", api.Errorf(api.ErrBadRequest, "several people have this login: name one by id")
		default:
			id = u.ID
		}
	}
	if id == "" {
		return "", api.Errorf(api.ErrNotFound, "nobody has this id or login")
	}
	return id, nil
}
