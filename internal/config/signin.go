package config

import (
	"net/url"
	"slices"
	"strings"
)

// SignIn says how people sign in.
type SignIn struct {
	// URL is where browsers and clients reach the server; empty: what each request
	// asked for.
	URL string `toml:"url"`
	// Local lets people sign in with a join code.
	Local bool `toml:"local"`
	// KeyFile holds the key that seals the tokens of forges; empty: one in the data
	// directory.
	KeyFile string `toml:"key_file"`
	// Forge is a forge to sign in with.
	Forge Forge `toml:"forge"`
	// OIDC is an OpenID Connect provider to sign in with.
	OIDC OIDC `toml:"oidc"`
	// Exchange gives machines access for tokens of their own.
	Exchange Exchange `toml:"exchange"`
}

// Forge is a forge to sign in with.
type Forge struct {
	// Kind is github, gitlab or gitea; empty: none.
	Kind string `toml:"kind"`
	// URL is the forge's own; empty: github.com or gitlab.com.
	URL string `toml:"url"`
	// ClientID is that of the app that was registered there.
	ClientID string `toml:"client_id"`
	// ClientSecret goes with it; it belongs into the environment or a file of its
	// own.
	ClientSecret string `toml:"client_secret" env:"TEAMMEMD_SERVER_SIGN_IN_FORGE_CLIENT_SECRET" config:"secret,nofile"`
	// ClientSecretFile holds ClientSecret.
	ClientSecretFile string `toml:"client_secret_file"`
	// Scopes are asked for; an app of GitHub needs none.
	Scopes []string `toml:"scopes"`
}

// OIDC is an OpenID Connect provider to sign in with.
type OIDC struct {
	// Issuer is its URL; empty: none.
	Issuer string `toml:"issuer"`
	// ClientID is that of this server there.
	ClientID string `toml:"client_id"`
	// ClientSecret goes with it.
	ClientSecret string `toml:"client_secret" env:"TEAMMEMD_SERVER_SIGN_IN_OIDC_CLIENT_SECRET" config:"secret,nofile"`
	// ClientSecretFile holds ClientSecret.
	ClientSecretFile string `toml:"client_secret_file"`
	// Scopes beside openid, profile and email.
	Scopes []string `toml:"scopes"`
	// Title stands on the button.
	Title string `toml:"title"`
	// GroupsClaim is the claim that lists groups.
	GroupsClaim string `toml:"groups_claim"`
}

// Exchange gives machines access for tokens of their own.
type Exchange struct {
	// Issuer signs the tokens.
	Issuer string `toml:"issuer"`
	// Audience is whom they must be made for; empty: the server's URL.
	Audience string `toml:"audience"`
	// Policies say which may read which repos; none: no exchange.
	Policies []string `toml:"policies"`
}

func signInDefaults() SignIn {
	return SignIn{
		Local:    true,
		Forge:    Forge{Scopes: []string{}},
		OIDC:     OIDC{Scopes: []string{}, Title: "Single sign-on", GroupsClaim: "groups"},
		Exchange: Exchange{Issuer: "https://token.actions.githubusercontent.com", Policies: []string{}},
	}
}

// Secret returns the client's secret, from its file where that is named. It is
// read anew at each call, so that it can be changed by a reload.
func (f Forge) Secret() (string, error) { return secretOf(f.ClientSecret, f.ClientSecretFile) }

// Secret returns the client's secret; see [Forge.Secret].
func (o OIDC) Secret() (string, error) { return secretOf(o.ClientSecret, o.ClientSecretFile) }

func secretOf(value, file string) (string, error) {
	if file == "" {
		return value, nil
	}
	return readSmall(file)
}

func (s SignIn) faults() []fault {
	var out []fault
	bad := func(key, text string) { out = append(out, fault{"sign_in." + key, text}) }
	if s.URL != "" && !isOrigin(s.URL) {
		bad("url", "it must look like https://memory.example.com, without a path")
	}
	if s.URL != "" && !isSafe(s.URL) {
		bad("url", "it must begin with https://, or with http:// and a loopback address: sign-ins would travel in the clear")
	}
	switch kind := s.Forge.Kind; {
	case !slices.Contains([]string{"", "github", "gitlab", "gitea"}, kind):
		bad("forge.kind", "it must be github, gitlab or gitea")
	case kind == "gitea" && s.Forge.URL == "":
		bad("forge.kind", "gitea needs forge.url as well")
	case kind != "" && s.Forge.ClientID == "":
		bad("forge.kind", "it needs forge.client_id as well")
	case kind != "" && s.URL == "":
		bad("forge.kind", "it needs sign_in.url as well, which the forge sends people back to")
	}
	if s.Forge.URL != "" && !isSafe(s.Forge.URL) {
		bad("forge.url", "it must begin with https://, or with http:// and a loopback address")
	}
	switch issuer := s.OIDC.Issuer; {
	case issuer != "" && !isSafe(issuer):
		bad("oidc.issuer", "it must begin with https://, or with http:// and a loopback address")
	case issuer != "" && s.OIDC.ClientID == "":
		bad("oidc.issuer", "it needs oidc.client_id as well")
	case issuer != "" && s.URL == "":
		bad("oidc.issuer", "it needs sign_in.url as well, which the provider sends people back to")
	}
	if len(s.Exchange.Policies) == 0 {
		return out
	}
	if s.Exchange.Audience == "" && s.URL == "" {
		bad("exchange.policies", "they need exchange.audience or sign_in.url as well")
	}
	if !isSafe(s.Exchange.Issuer) {
		bad("exchange.issuer", "it must begin with https://, or with http:// and a loopback address")
	}
	return out
}

// isOrigin reports whether s is a scheme and a host, with nothing behind.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && u.Path == "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil && !strings.HasSuffix(s, "?")
}

// isSafe reports whether what travels to s cannot be read on the way.
func isSafe(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())
}
