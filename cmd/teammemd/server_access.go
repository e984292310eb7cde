package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/store"
)

// newAccess makes what decides who may do what. It asks nothing yet. The error
// wraps [api.ErrConfig].
func (e *embedded) newAccess(c config.Server, backend store.Backend) error {
	o := access.Options{People: e.person, Log: e.log}
	o.Names, _ = backend.(store.Names)
	if c.Access.PolicyFile != "" {
		policy, err := access.OpenPolicy(c.Access.PolicyFile)
		if err != nil {
			return err
		}
		e.policy, o.Policy = policy, policy
	}
	if c.SignIn.Forge.Kind != "" && c.Access.Forge == config.ForgeAuto {
		f, err := forge.New(forge.Options{
			Kind: c.SignIn.Forge.Kind, URL: c.SignIn.Forge.URL, Host: c.Access.RepoHost, PublicReaders: c.Access.PublicReaders,
		})
		if err != nil {
			return err
		}
		o.Forge = f
		if o.Hooks, err = hooksOf(f, c.Access); err != nil {
			return err
		}
	}
	e.access = access.New(o)
	return e.lendTokens(c)
}

// hooksOf returns what reads the forge's webhooks, nil where none are taken.
func hooksOf(f *forge.Forge, a config.Access) (*forge.Hooks, error) {
	secret, err := a.WebhookSecret()
	if err != nil {
		return nil, fmt.Errorf("%w: access.webhook_secret_file: %w", api.ErrConfig, err)
	}
	if secret == "" {
		return nil, nil
	}
	return f.Hooks(secret)
}

// lendTokens puts into effect how people's tokens of the forge are renewed.
func (e *embedded) lendTokens(c config.Server) error {
	f, err := forgeOf(c.SignIn.Forge)
	if err != nil || f == nil || e.people.sealer == nil {
		return err
	}
	e.tokens.Store(upstream.NewTokens(e.people.accounts, e.people.sealer, f, nil))
	return nil
}

// person is an [access.People].
func (e *embedded) person(ctx context.Context, id string) (access.Person, error) {
	u, err := e.people.accounts.User(ctx, id)
	if err != nil {
		return access.Person{}, err
	}
	who := access.Person{Issuer: u.Issuer, Subject: u.Subject, Login: u.Login, Email: u.Email, Groups: u.Groups}
	if u.Upstream != nil {
		who.Token = func(ctx context.Context) (string, error) { return e.lend(ctx, id) }
	}
	return who, nil
}

// lend returns somebody's token of the forge.
func (e *embedded) lend(ctx context.Context, id string) (string, error) {
	tokens := e.tokens.Load()
	if tokens == nil {
		return "", fmt.Errorf("%w: there is no forge to ask any more", api.ErrSignedOut)
	}
	token, err := tokens.Token(ctx, id)
	if errors.Is(err, upstream.ErrNoToken) || errors.Is(err, upstream.ErrRefused) {
		return "", fmt.Errorf("%w: %w", api.ErrSignedOut, err)
	}
	return token, err
}

// checkPolicy looks at the policy file without putting it into effect. The error
// wraps [api.ErrConfig].
func checkPolicy(c config.Server) error {
	if c.Access.PolicyFile == "" {
		return nil
	}
	_, err := access.OpenPolicy(c.Access.PolicyFile)
	return err
}
