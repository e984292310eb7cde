package access

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/store"
)

// lookup finds out what a user may in a repo, and remembers it. What an answer
// was before a change that a webhook told of is not remembered.
func (a *Access) lookup(ctx context.Context, key question) (*entry, error) {
	drops := a.known.dropped()
	person, err := a.o.People(ctx, key.user)
	switch {
	case errors.Is(err, store.ErrNoUser):
		return nil, signedOut()
	case err != nil:
		return nil, errUnavailable("reading who somebody is", err)
	}
	now := a.o.Now()
	e := &entry{person: person, asked: now, confirmed: now, until: now.Add(YesLife)}
	if a.o.Forge == nil || person.Token == nil || !a.o.Forge.Knows(person.Issuer, key.repo) {
		if a.o.Policy == nil {
			e.until = now.Add(NoLife)
		}
		a.known.put(key, e, drops)
		return e, nil
	}
	last := a.known.last(key)
	if last != nil && (last.person.Issuer != person.Issuer || last.person.Subject != person.Subject) {
		last = nil // somebody else's
	}
	if err := a.inquire(ctx, key, e, last); err != nil {
		return nil, err
	}
	a.known.put(key, e, drops)
	return e, nil
}

// inquire asks the forge and completes e.
func (a *Access) inquire(ctx context.Context, key question, e, last *entry) error {
	said, err := a.permission(ctx, e.person, key.repo, last)
	switch {
	case err == nil:
		a.tell(ctx, nil)
	case isSignedOut(err):
		e.failed, e.until = signedOut(), e.asked.Add(signInLife)
		return nil
	default:
		a.tell(ctx, err)
		a.withoutForge(e, last, err)
		return nil
	}
	e.said = said
	if said.Role == api.NoRole {
		e.said, e.until = forge.Answer{ETag: said.ETag, Identity: said.Identity, Name: said.Name}, e.asked.Add(NoLife)
		return nil
	}
	e.home = said.Name
	if a.o.Names == nil {
		return nil
	}
	var moved bool
	e.home, moved, err = a.names.bind(ctx, said.Name, said.Identity)
	switch {
	case moved:
		a.broadcast() // who listens to data that was moved listens at the wrong place
	case errors.Is(err, store.ErrNameTaken):
		a.o.Log.ErrorContext(ctx, "repository was renamed, and its new name has memory of its own here: one of them has to be moved",
			"repo", said.Name.String(), "identity", said.Identity)
		e.said, e.home, e.until = forge.Answer{}, api.Repo{}, e.asked.Add(NoLife)
		e.failed = api.Errorf(api.ErrConflict, "the repository was renamed, and there is memory under its new name already; the server's operator has to join them")
	case err != nil:
		return errUnavailable("naming a repository", err)
	}
	return nil
}

// permission asks the forge with the person's token.
func (a *Access) permission(ctx context.Context, p Person, repo api.Repo, last *entry) (forge.Answer, error) {
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return forge.Answer{}, ctx.Err()
	}
	token, err := p.Token(ctx)
	if err != nil {
		return forge.Answer{}, err
	}
	var known forge.Answer
	if last != nil {
		known = last.said
	}
	return a.o.Forge.Permission(ctx, token, repo, known)
}

// withoutForge decides by the last known permission, for as long as that counts.
func (a *Access) withoutForge(e, last *entry, err error) {
	soon := e.asked.Add(retryLife)
	if later, ok := errors.AsType[*forge.UnreachableError](err); ok && later.Until.Before(soon) {
		soon = later.Until
	}
	e.until = soon
	refusal := api.Errorf(api.ErrUnavailable, "the forge that says who may read this cannot be asked now")
	refusal.RetryAfter = soon.Sub(e.asked)
	e.failed = fmt.Errorf("%w: %w", refusal, err)
	if last == nil || last.failed != nil {
		return
	}
	end := last.confirmed.Add(OutageLife)
	if !e.asked.Before(end) {
		return
	}
	e.said, e.home, e.confirmed, e.failed = last.said, last.home, last.confirmed, nil
	if end.Before(e.until) {
		e.until = end
	}
}

// tell logs once that the forge has ceased to answer, and once that it answers.
func (a *Access) tell(ctx context.Context, err error) {
	a.mu.Lock()
	changed := (err != nil) != a.outage
	a.outage = err != nil
	a.mu.Unlock()
	switch {
	case !changed:
	case err != nil:
		a.o.Log.WarnContext(ctx, "forge cannot be asked, last known permissions count", "for", OutageLife.Round(time.Minute).String(), "error", err)
	default:
		a.o.Log.InfoContext(ctx, "forge answers again")
	}
}
