package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// ActionsIssuer signs the tokens of GitHub Actions.
const ActionsIssuer = "https://token.actions.githubusercontent.com"

// ExchangeOptions configure [NewExchange].
type ExchangeOptions struct {
	// Issuer signs the tokens. Default: [ActionsIssuer].
	Issuer string
	// Audience is whom a token must be made for: this server's URL, or another text
	// that no other server has.
	Audience string
	// Policies say which tokens may read which repos; see [NewExchange].
	Policies []string
	// Client asks the issuer for its keys. Default: [NewClient].
	Client *http.Client
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// exchangeLeeway is how long a token still counts after its end: clocks differ.
const exchangeLeeway = time.Minute

// Exchange judges the tokens of machines.
type Exchange struct {
	policies []policy
	discover func() (*oidc.IDTokenVerifier, error)
}

// policy gives what has all claims access to repos.
type policy struct {
	claims map[string]string // claim to pattern, as of path.Match without "?" and "["
	repos  string            // pattern, or repositoryClaim
}

// repositoryClaim stands for the repo that the token itself names.
const repositoryClaim = "{repository}"

var errNoAudience = errors.New("exchanging tokens needs an audience that is this server's own")

// NewExchange returns an Exchange. A policy is written "CLAIM=PATTERN ... ->
// REPOS": all claims have to match, in which "*" stands for any text without a
// slash, and the token may then read REPOS, a pattern of repos or {repository},
// the one that the claim of this name says.
func NewExchange(o ExchangeOptions) (*Exchange, error) {
	if o.Issuer == "" {
		o.Issuer = ActionsIssuer
	}
	if o.Client == nil {
		o.Client = NewClient()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Audience == "" {
		return nil, errNoAudience
	}
	e := &Exchange{}
	for _, text := range o.Policies {
		p, err := parsePolicy(text)
		if err != nil {
			return nil, err
		}
		e.policies = append(e.policies, p)
	}
	provider := NewOIDC(OIDCOptions{Issuer: o.Issuer, Client: o.Client})
	var once sync.Mutex
	var verifier *oidc.IDTokenVerifier
	e.discover = func() (*oidc.IDTokenVerifier, error) {
		found, err := provider.discover()
		if err != nil {
			return nil, err
		}
		once.Lock()
		defer once.Unlock()
		if verifier == nil {
			verifier = found.Verifier(&oidc.Config{
				ClientID: o.Audience, Now: func() time.Time { return o.Now().Add(-exchangeLeeway) },
			})
		}
		return verifier, nil
	}
	return e, nil
}

func parsePolicy(text string) (policy, error) {
	bad := fmt.Errorf("a policy of exchange looks like \"repository_owner=acme ref=refs/heads/main -> acme/*\", not %q", text)
	conditions, repos, ok := strings.Cut(text, "->")
	p := policy{claims: map[string]string{}, repos: strings.TrimSpace(repos)}
	if !ok || p.repos == "" || strings.ContainsAny(p.repos, " \t") {
		return p, bad
	}
	for condition := range strings.FieldsSeq(conditions) {
		claim, pattern, ok := strings.Cut(condition, "=")
		if !ok || claim == "" || pattern == "" || strings.ContainsAny(pattern, `?[\`) || p.claims[claim] != "" {
			return p, bad
		}
		p.claims[claim] = pattern
	}
	if len(p.claims) == 0 {
		return p, bad // it would let everybody in who has an account there
	}
	return p, nil
}

// Machine is what a token of a machine may do.
type Machine struct {
	Name  string   // for lists: what the token is about
	Repos []string // patterns of what it may read
}

// Judge checks a token and returns what the policies give. No policy gives
// nothing: the zero Repos. Errors wrap [ErrRefused], or [ErrUnreachable].
func (e *Exchange) Judge(ctx context.Context, raw string) (Machine, error) {
	verifier, err := e.discover()
	if err != nil {
		return Machine{}, err
	}
	token, err := verifier.Verify(ctx, raw)
	if err != nil {
		return Machine{}, refusedToken(err)
	}
	var all map[string]any
	if err := token.Claims(&all); err != nil {
		return Machine{}, fmt.Errorf("%w: the token has no claims", ErrRefused)
	}
	claims := map[string]string{}
	for name, value := range all {
		if text, ok := value.(string); ok {
			claims[name] = text
		}
	}
	m := Machine{Name: token.Subject}
	for _, p := range e.policies {
		repos, ok := p.grants(claims)
		if ok {
			m.Repos = append(m.Repos, repos)
		}
	}
	return m, nil
}

func (p policy) grants(claims map[string]string) (repos string, ok bool) {
	for claim, pattern := range p.claims {
		match, err := path.Match(pattern, claims[claim])
		if err != nil || !match || claims[claim] == "" {
			return "", false
		}
	}
	if p.repos == repositoryClaim {
		return claims["repository"], claims["repository"] != "" && !strings.Contains(claims["repository"], "*")
	}
	return p.repos, true
}
