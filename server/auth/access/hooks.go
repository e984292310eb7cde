package access

import (
	"context"

	"github.com/teammem/teammemd/api"
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

// Renamed gives the data of a repository its new name at once. It acts only for
// data that belongs to this repository already: nothing else is believed of a
// message.
func (a *Access) Renamed(ctx context.Context, from, to api.Repo, identity string) error {
	if a.o.Names != nil && !from.IsZero() && !to.IsZero() && identity != "" {
		_, has, err := a.names.at(ctx, from)
		if err != nil {
			return err
		}
		if has == identity {
			if _, err := a.names.bind(ctx, to, identity); err != nil {
				a.o.Log.ErrorContext(ctx, "renamed repository keeps its old name here", "from", from.String(), "to", to.String(), "error", err)
			}
		}
	}
	a.ForgetRepo(from, identity)
	a.ForgetRepo(to, identity)
	return nil
}
