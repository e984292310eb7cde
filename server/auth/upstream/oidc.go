package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// OIDCOptions configure [NewOIDC].
type OIDCOptions struct {
	// Name is how people know the provider. Default: "Single sign-on".
	Name string
	// Issuer is the provider's URL, from which the rest is discovered.
	Issuer                 string
	ClientID, ClientSecret string
	// Scopes beside openid, profile and email.
	Scopes []string
	// GroupsClaim is the claim that lists groups. Default: "groups".
	GroupsClaim string
	// Client asks the provider. Default: [NewClient].
	Client *http.Client
}

// OIDC is a [Provider] that speaks OpenID Connect. It discovers the provider's
// endpoints and keys when they are first needed, so that a server starts while
// its provider is down.
type OIDC struct {
	o      OIDCOptions
	flight singleflight.Group

	mu       sync.Mutex
	provider *oidc.Provider // guarded by mu; nil until discovered
}

// NewOIDC returns a provider. It asks nothing yet.
func NewOIDC(o OIDCOptions) *OIDC {
	if o.Name == "" {
		o.Name = "Single sign-on"
	}
	if o.GroupsClaim == "" {
		o.GroupsClaim = "groups"
	}
	if o.Client == nil {
		o.Client = NewClient()
	}
	return &OIDC{o: o}
}

// Title implements [Provider].
func (p *OIDC) Title() string { return p.o.Name }

// discover returns the provider, which is looked up once.
func (p *OIDC) discover() (*oidc.Provider, error) {
	p.mu.Lock()
	known := p.provider
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	found, err, _ := p.flight.Do("", func() (any, error) {
		// The provider keeps the context to fetch keys later: it must not end with
		// the request that came first. The client has a timeout of its own.
		return oidc.NewProvider(oidc.ClientContext(context.Background(), p.o.Client), p.o.Issuer)
	})
	if err != nil {
		return nil, fmt.Errorf("%w: discovering %s", ErrUnreachable, p.o.Issuer)
	}
	provider := found.(*oidc.Provider) // it was made above
	p.mu.Lock()
	defer p.mu.Unlock()
	p.provider = provider
	return provider, nil
}

func (p *OIDC) config(provider *oidc.Provider, t Trip) oauth2.Config {
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	return oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: endpoint, RedirectURL: t.Redirect,
		Scopes: append([]string{oidc.ScopeOpenID, "profile", "email"}, p.o.Scopes...),
	}
}

// AuthURL implements [Provider].
func (p *OIDC) AuthURL(_ context.Context, t Trip) (string, error) {
	provider, err := p.discover()
	if err != nil {
		return "", err
	}
	c := p.config(provider, t)
	return c.AuthCodeURL(t.State, oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)), nil
}

var errNoIDToken = errors.New("there is no ID token in its answer")

// Identify implements [Provider].
func (p *OIDC) Identify(ctx context.Context, code string, t Trip) (Identity, error) {
	provider, err := p.discover()
	if err != nil {
		return Identity{}, err
	}
	c := p.config(provider, t)
	token, err := c.Exchange(oidc.ClientContext(ctx, p.o.Client), code, oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return Identity{}, explain("redeeming a code", err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Identity{}, fmt.Errorf("%w: %w", ErrRefused, errNoIDToken)
	}
	verified, err := provider.Verifier(&oidc.Config{ClientID: p.o.ClientID}).Verify(ctx, raw)
	if err != nil {
		return Identity{}, refusedToken(err)
	}
	if verified.Nonce != t.Nonce {
		return Identity{}, fmt.Errorf("%w: its ID token is of another sign-in", ErrRefused)
	}
	return p.identity(verified)
}

// refusedToken says that a token is no good, without quoting it: go-oidc's
// messages hold claims.
func refusedToken(err error) error {
	if _, ok := errors.AsType[*oidc.TokenExpiredError](err); ok {
		return fmt.Errorf("%w: the token expired; if it is new, this server's clock is wrong", ErrRefused)
	}
	return fmt.Errorf("%w: the token is not a valid one of this issuer for this audience", ErrRefused)
}

func (p *OIDC) identity(token *oidc.IDToken) (Identity, error) {
	var claims struct {
		Login    string `json:"preferred_username"`
		Name     string `json:"name"`
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
	}
	var all map[string]any
	if err := errors.Join(token.Claims(&claims), token.Claims(&all)); err != nil || token.Subject == "" {
		return Identity{}, fmt.Errorf("%w: its ID token has claims of other types", ErrRefused)
	}
	who := Identity{Issuer: token.Issuer, Subject: token.Subject, Login: claims.Login, Name: claims.Name, Groups: texts(all[p.o.GroupsClaim])}
	if claims.Verified {
		who.Email = claims.Email
	}
	if who.Login == "" {
		who.Login = who.Email
	}
	return who, nil
}

// texts reads a claim that is a text or a list of texts.
func texts(claim any) []string {
	switch v := claim.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, one := range v {
			if text, ok := one.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}
