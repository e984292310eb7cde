package access

import (
	"context"
	"errors"
	"net/http"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge"
)

// ForgetRepo makes the next request about a repo ask the forge again, by whatever
// name it is asked for, and wakes the requests that stay open. It forgets the last
// known permission as well: an outage does not bring it back.
func (a *Access) ForgetRepo(repo api.Repo, identity string) {
	a.known.drop(func(q question, e *entry) bool {
		return q.repo == repo || e.home == repo || e.said.Name == repo || (identity != "" && e.said.Identity == identity)
	})
	a.broadcast()
}

// ForgetOwner is ForgetRepo for all repos whose names begin with owner, such as
// "acme" or "git.example.com/acme".
func (a *Access) ForgetOwner(owner string) {
	a.known.drop(func(q question, e *entry) bool {
		return below(q.repo.String(), owner) || below(e.home.String(), owner) || below(e.said.Name.String(), owner)
	})
	a.broadcast()
}

// Webhook acts on what a forge of this kind sent: it forgets what may have
// changed, and gives the data of a renamed repository its new name. The error
// wraps [api.ErrNotFound] where nothing is expected from such a forge,
// [api.ErrForbidden] for what it did not sign, and [api.ErrBadRequest].
func (a *Access) Webhook(ctx context.Context, kind string, h http.Header, body []byte) error {
	if a.o.Hooks == nil || a.o.Hooks.Kind() != kind {
		return api.Errorf(api.ErrNotFound, "there is nothing at this path")
	}
	event, err := a.o.Hooks.Read(h, body)
	switch {
	case errors.Is(err, forge.ErrSignature):
		return api.Errorf(api.ErrForbidden, "the signature is missing or wrong")
	case err != nil:
		return api.Errorf(api.ErrBadRequest, "the body is not an event of a %s", kind)
	}
	if err := a.renamed(ctx, event); err != nil {
		return err
	}
	for _, repo := range event.Repos {
		a.ForgetRepo(repo, event.Identity)
	}
	for _, owner := range event.Owners {
		a.ForgetOwner(owner)
	}
	return nil
}

// Expects reports whether a forge of this kind may send something.
func (a *Access) Expects(kind string) bool { return a.o.Hooks != nil && a.o.Hooks.Kind() == kind }

// renamed acts only for data that belongs to this repository and has the name
// that it is said to leave: an event that comes late, or again, moves nothing.
func (a *Access) renamed(ctx context.Context, e forge.Event) error {
	if a.o.Names == nil || e.From.IsZero() || e.To.IsZero() || e.Identity == "" {
		return nil
	}
	home, identity, err := a.names.at(ctx, e.From)
	if err != nil || home != e.From || identity != e.Identity {
		return err
	}
	if _, _, err := a.names.bind(ctx, e.To, e.Identity); err != nil {
		a.o.Log.ErrorContext(ctx, "renamed repository keeps its old name here", "from", e.From.String(), "to", e.To.String(), "error", err)
	}
	return nil
}
