package upstream_test

import (
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/auth/upstream/upstreamtest"
)

const oidcCallback = "/oauth/callback/oidc"

func newOIDC(i *upstreamtest.Issuer) *upstream.OIDC {
	return upstream.NewOIDC(upstream.OIDCOptions{Issuer: i.URL, ClientID: upstreamtest.ClientID, ClientSecret: upstreamtest.ClientSecret})
}

func TestOIDC(t *testing.T) {
	i := upstreamtest.NewIssuer(t)
	i.Down = true
	p := newOIDC(i)
	trip := newTrip(oidcCallback)
	if _, err := p.AuthURL(t.Context(), trip); !errors.Is(err, upstream.ErrUnreachable) {
		t.Errorf("a provider that is down: %v", err)
	}
	i.Down = false // no restart is needed
	who, err := p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip)
	if err != nil {
		t.Fatal(err)
	}
	if who.Issuer != i.URL || who.Subject != "ada-0001" || who.Login != "ada" || who.Email != "ada@example.com" || !slices.Equal(who.Groups, []string{"dev", "ops"}) || who.Token != nil {
		t.Errorf("%+v", who)
	}
	i.Claims["email_verified"], i.Claims["groups"] = false, "one"
	delete(i.Claims, "preferred_username")
	if who, err = p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip); err != nil || who.Email != "" || who.Login != "" || !slices.Equal(who.Groups, []string{"one"}) {
		t.Errorf("an email that nobody verified: %+v, %v", who, err)
	}
	i.Claims["groups"] = map[string]any{"a": 1}
	if who, err = p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip); err != nil || who.Groups != nil {
		t.Errorf("groups of another type: %+v, %v", who, err)
	}
}

// badTokens are the ways in which a signed token may be wrong.
func badTokens(t *testing.T) map[string]func(*upstreamtest.Issuer) {
	t.Helper()
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	set := func(claim string, value any) func(*upstreamtest.Issuer) {
		return func(i *upstreamtest.Issuer) { i.Change = func(c map[string]any) { c[claim] = value } }
	}
	sign := func(sign func(i *upstreamtest.Issuer, c map[string]any) string) func(*upstreamtest.Issuer) {
		return func(i *upstreamtest.Issuer) { i.Sign = func(c map[string]any) string { return sign(i, c) } }
	}
	return map[string]func(*upstreamtest.Issuer){
		"for somebody else":     set("aud", "another"),
		"for nobody":            set("aud", nil),
		"of another issuer":     set("iss", "https://other.example"),
		"expired":               set("exp", time.Now().Add(-time.Minute).Unix()),
		"without an end":        set("exp", nil),
		"not yet":               set("nbf", time.Now().Add(time.Hour).Unix()),
		"by another key":        sign(func(i *upstreamtest.Issuer, c map[string]any) string { return i.Signed("RS256", c, other) }),
		"unsigned":              sign(func(i *upstreamtest.Issuer, c map[string]any) string { return unsigned(i, c, other) }),
		"by a shared secret":    sign(func(i *upstreamtest.Issuer, c map[string]any) string { return i.Signed("HS256", c, other) }),
		"changed after signing": sign(func(i *upstreamtest.Issuer, c map[string]any) string { return swapped(i, c) }),
		"no token":              sign(func(*upstreamtest.Issuer, map[string]any) string { return "x.y.z" }),
	}
}

func unsigned(i *upstreamtest.Issuer, c map[string]any, key *rsa.PrivateKey) string {
	parts := strings.Split(i.Signed("none", c, key), ".")
	return parts[0] + "." + parts[1] + "."
}

// swapped puts the claims of one token under the signature of another.
func swapped(i *upstreamtest.Issuer, c map[string]any) string {
	i.Sign = nil
	mine := strings.Split(i.Token(upstreamtest.ClientID, c), ".")
	c["sub"] = "somebody-else"
	other := strings.Split(i.Token(upstreamtest.ClientID, c), ".")
	return mine[0] + "." + other[1] + "." + mine[2]
}

func TestOIDCRefuses(t *testing.T) {
	bad := badTokens(t)
	bad["of another sign-in"] = func(i *upstreamtest.Issuer) { i.Change = func(c map[string]any) { c["nonce"] = "another" } }
	bad["without a nonce"] = func(i *upstreamtest.Issuer) { i.Change = func(c map[string]any) { delete(c, "nonce") } }
	bad["about nobody"] = func(i *upstreamtest.Issuer) { i.Change = func(c map[string]any) { delete(c, "sub") } }
	bad["with claims of other types"] = func(i *upstreamtest.Issuer) { i.Change = func(c map[string]any) { c["email_verified"] = []int{1} } }
	for name, spoil := range bad {
		i := upstreamtest.NewIssuer(t)
		spoil(i)
		p := newOIDC(i)
		trip := newTrip(oidcCallback)
		who, err := p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip)
		if !errors.Is(err, upstream.ErrRefused) {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
		if err != nil && (strings.Contains(err.Error(), "ada") || strings.Contains(err.Error(), "eyJ")) {
			t.Errorf("%s: the error tells of the token: %v", name, err)
		}
	}
}

func newExchange(t *testing.T, i *upstreamtest.Issuer, policies ...string) *upstream.Exchange {
	t.Helper()
	e, err := upstream.NewExchange(upstream.ExchangeOptions{Issuer: i.URL, Audience: upstreamtest.ClientID, Policies: policies})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExchangePolicies(t *testing.T) {
	i := upstreamtest.NewIssuer(t)
	claims := map[string]any{
		"sub": "repo:acme/api:ref:refs/heads/main", "repository": "acme/api", "repository_owner": "acme", "repository_id": "42",
		"ref": "refs/heads/main", "event_name": "push", "run_attempt": 1,
	}
	for policy, want := range map[string]string{
		"repository_owner=acme -> acme/*":                            "acme/*",
		"repository=acme/* ref=refs/heads/main -> {repository}":      "acme/api",
		"  repository_owner=acme   event_name=push->acme/web":        "acme/web",
		"repository=acme -> *":                                       "",
		"repository=* -> *":                                          "", // a slash is no part of it
		"repository_owner=acm* -> acme/*":                            "acme/*",
		"repository_owner=other -> *":                                "",
		"repository_owner=acme ref=refs/heads/release/* -> *":        "",
		"environment=* -> *":                                         "", // the claim is missing
		"run_attempt=1 -> *":                                         "", // and this one no text
		"repository_owner=acme repository_id=42 -> {repository}":     "acme/api",
		"repository_owner=ACME -> *":                                 "",
		"repository=acme/api ref=refs/heads/main -> git.example/a/b": "git.example/a/b",
	} {
		m, err := newExchange(t, i, policy).Judge(t.Context(), i.Token(upstreamtest.ClientID, claims))
		if err != nil || strings.Join(m.Repos, " ") != want || m.Name != claims["sub"] {
			t.Errorf("%q: %+v, %v, want %q", policy, m, err, want)
		}
	}
	claims["repository"] = "*"
	if m, err := newExchange(t, i, "repository_owner=acme -> {repository}").Judge(t.Context(), i.Token(upstreamtest.ClientID, claims)); err != nil || m.Repos != nil {
		t.Errorf("a repository called *: %+v, %v", m, err)
	}
	for _, policy := range []string{
		"", "-> *", "a=b", "a=b ->", "a -> *", "=b -> *", "a= -> *", "a=b a=c -> *", "a=[b] -> *", "a=b? -> *", `a=b\ -> *`, "a=b -> c d",
	} {
		if _, err := upstream.NewExchange(upstream.ExchangeOptions{Audience: "x", Policies: []string{policy}}); err == nil {
			t.Errorf("%q is a policy", policy)
		}
	}
	if _, err := upstream.NewExchange(upstream.ExchangeOptions{Policies: []string{"a=b -> *"}}); err == nil {
		t.Error("no audience is needed")
	}
}

func TestExchangeRefuses(t *testing.T) {
	for name, spoil := range badTokens(t) {
		i := upstreamtest.NewIssuer(t)
		spoil(i)
		e := newExchange(t, i, "sub=* -> *")
		if m, err := e.Judge(t.Context(), i.Token(upstreamtest.ClientID, map[string]any{"sub": "x"})); !errors.Is(err, upstream.ErrRefused) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	i := upstreamtest.NewIssuer(t)
	i.Down = true
	if _, err := newExchange(t, i, "sub=* -> *").Judge(t.Context(), "x"); !errors.Is(err, upstream.ErrUnreachable) {
		t.Errorf("an issuer that is down: %v", err)
	}
}

// TestExchangeClock: a clock that is a little ahead refuses nobody; one that is ten
// minutes ahead is told for it, and one that is behind lets good tokens in.
func TestExchangeClock(t *testing.T) {
	i := upstreamtest.NewIssuer(t)
	token := i.Token(upstreamtest.ClientID, map[string]any{"sub": "x"}) // for five minutes
	for ahead, want := range map[time.Duration]bool{-10 * time.Minute: true, 5*time.Minute + 30*time.Second: true, 10 * time.Minute: false} {
		e, err := upstream.NewExchange(upstream.ExchangeOptions{
			Issuer: i.URL, Audience: upstreamtest.ClientID, Policies: []string{"sub=* -> *"}, Now: func() time.Time { return time.Now().Add(ahead) },
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Judge(t.Context(), token)
		if want && err != nil || !want && (!errors.Is(err, upstream.ErrRefused) || !strings.Contains(err.Error(), "clock")) {
			t.Errorf("%s ahead: %v", ahead, err)
		}
	}
}
