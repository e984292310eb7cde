package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/store"
)

// signInKey is the file in the data directory that holds the key with which what
// forges give is sealed.
const signInKey = "sign-in.key"

// people are those who sign in, and what they signed in with.
type people struct {
	accounts store.Accounts
	audits   store.Audits
	sealer   *upstream.Sealer
}

// newPeople returns the people of a store. The error wraps [api.ErrConfig].
func newPeople(backend store.Backend, c config.Server, _ *slog.Logger) (*people, error) {
	p := &people{accounts: backend, audits: backend}
	if c.SignIn.Forge.Kind == "" && c.SignIn.KeyFile == "" {
		return p, nil
	}
	var err error
	file := cmp.Or(c.SignIn.KeyFile, filepath.Join(c.Data, signInKey))
	if p.sealer, err = upstream.LoadSealer(file); err != nil {
		return nil, fmt.Errorf("%w: sign_in.key_file: %w", api.ErrConfig, err)
	}
	return p, nil
}

// audit adds a row to the server's own chain.
func (p *people) audit(ctx context.Context, e store.Event) error { return auditTo(p.audits)(ctx, e) }

// auditTo returns what adds rows to the server's own chain.
func auditTo(audits store.Audits) func(context.Context, store.Event) error {
	return func(ctx context.Context, e store.Event) error { return audits.Audit(ctx, api.Repo{}, e) }
}

// signIns lists and ends sign-ins.
func (e *embedded) signIns() oauth.SignIns {
	s := oauth.SignIns{Accounts: e.people.accounts, Forget: e.auth.Forget}
	if e.people.audits != nil {
		s.Audit = e.people.audit
	}
	return s
}

// signIn makes the authorization server of a configuration. The error wraps
// [api.ErrConfig].
func (e *embedded) signIn(c config.Server, proxies []netip.Prefix) (http.Handler, error) {
	o := oauth.Options{
		Accounts: e.people.accounts, Auth: e.auth, URL: c.SignIn.URL, Local: c.SignIn.Local, Sealer: e.people.sealer,
		CleanText: e.core.CleanText, Address: server.AddressOf(proxies), Log: e.log, Audit: e.people.audit,
	}
	forge, err := forgeOf(c.SignIn.Forge)
	if err != nil {
		return nil, err
	}
	if forge != nil {
		o.Forge = forge
	}
	if c.SignIn.OIDC.Issuer != "" {
		secret, err := c.SignIn.OIDC.Secret()
		if err != nil {
			return nil, fmt.Errorf("%w: sign_in.oidc.client_secret_file: %w", api.ErrConfig, err)
		}
		p := c.SignIn.OIDC
		o.OIDC = upstream.NewOIDC(upstream.OIDCOptions{
			Name: p.Title, Issuer: p.Issuer, ClientID: p.ClientID, ClientSecret: secret, Scopes: p.Scopes, GroupsClaim: p.GroupsClaim,
		})
	}
	if x := c.SignIn.Exchange; len(x.Policies) > 0 {
		o.Exchange, err = upstream.NewExchange(upstream.ExchangeOptions{
			Issuer: x.Issuer, Audience: cmp.Or(x.Audience, c.SignIn.URL), Policies: x.Policies,
		})
		if err != nil {
			return nil, fmt.Errorf("%w: sign_in.exchange.policies: %w", api.ErrConfig, err)
		}
	}
	return oauth.New(o)
}

// forgeOf returns the forge of a configuration, nil for none. The error wraps
// [api.ErrConfig].
func forgeOf(f config.Forge) (*upstream.Forge, error) {
	if f.Kind == "" {
		return nil, nil
	}
	secret, err := f.Secret()
	if err != nil {
		return nil, fmt.Errorf("%w: sign_in.forge.client_secret_file: %w", api.ErrConfig, err)
	}
	forge, err := upstream.NewForge(upstream.ForgeOptions{
		Kind: upstream.ForgeKind(f.Kind), URL: f.URL, ClientID: f.ClientID, ClientSecret: secret, Scopes: f.Scopes,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: sign_in.forge: %w", api.ErrConfig, err)
	}
	return forge, nil
}
