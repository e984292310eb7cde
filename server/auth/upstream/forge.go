package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/oauth2"
)

// ForgeKind is a kind of forge.
type ForgeKind string

// The kinds of forges.
const (
	GitHub ForgeKind = "github" // github.com, or GitHub Enterprise
	GitLab ForgeKind = "gitlab"
	Gitea  ForgeKind = "gitea" // and Forgejo
)

// forgePaths are where a kind of forge has what we need, below its base URL.
type forgePaths struct {
	title, home, authorize, token, user string
}

var forges = map[ForgeKind]forgePaths{
	GitHub: {"GitHub", "https://github.com", "/login/oauth/authorize", "/login/oauth/access_token", "/api/v3/user"},
	GitLab: {"GitLab", "https://gitlab.com", "/oauth/authorize", "/oauth/token", "/api/v4/user"},
	Gitea:  {"Gitea", "", "/login/oauth/authorize", "/login/oauth/access_token", "/api/v1/user"},
}

// ForgeOptions configure [NewForge].
type ForgeOptions struct {
	Kind ForgeKind
	// URL is the forge's base URL; default: github.com or gitlab.com.
	URL string
	// ClientID and ClientSecret are those of the registered app. A GitHub App is
	// recommended: an OAuth App sees private repositories only with a scope that may
	// also write.
	ClientID, ClientSecret string
	Scopes                 []string
	// Client asks the forge. Default: [NewClient].
	Client *http.Client
}

// Forge is a [Provider] that speaks a forge's OAuth 2.0 and knows people by
// their number.
type Forge struct {
	title  string
	issuer string
	user   string
	client *http.Client
	config oauth2.Config
}

// NewForge returns a provider for a forge. It asks nothing yet.
func NewForge(o ForgeOptions) (*Forge, error) {
	paths, ok := forges[o.Kind]
	if !ok {
		return nil, fmt.Errorf("there is no forge of the kind %q", o.Kind)
	}
	base := strings.TrimSuffix(o.URL, "/")
	if base == "" {
		base = paths.home
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("the URL of %s must look like https://forge.example.com", paths.title)
	}
	user := base + paths.user
	if base == forges[GitHub].home {
		user = "https://api.github.com/user"
	}
	if o.Client == nil {
		o.Client = NewClient()
	}
	return &Forge{
		title: paths.title, issuer: base, user: user, client: o.Client,
		config: oauth2.Config{
			ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes,
			// Finding the style out by trying would redeem a code twice.
			Endpoint: oauth2.Endpoint{AuthURL: base + paths.authorize, TokenURL: base + paths.token, AuthStyle: oauth2.AuthStyleInParams},
		},
	}, nil
}

// Title implements [Provider].
func (f *Forge) Title() string { return f.title }

// Issuer is what users of this forge have as theirs: its base URL.
func (f *Forge) Issuer() string { return f.issuer }

// AuthURL implements [Provider].
func (f *Forge) AuthURL(_ context.Context, t Trip) (string, error) {
	c := f.config
	c.RedirectURL = t.Redirect
	return c.AuthCodeURL(t.State, oauth2.S256ChallengeOption(t.Verifier)), nil
}

// Identify implements [Provider].
func (f *Forge) Identify(ctx context.Context, code string, t Trip) (Identity, error) {
	c := f.config
	c.RedirectURL = t.Redirect
	token, err := c.Exchange(context.WithValue(ctx, oauth2.HTTPClient, f.client), code, oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return Identity{}, explain("redeeming a code", err)
	}
	return f.identity(ctx, token)
}

// identity asks the forge whose token it is, with the token itself, which the
// forge gave to our client a moment ago.
func (f *Forge) identity(ctx context.Context, token *oauth2.Token) (Identity, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.user, http.NoBody)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: asking who it is", ErrUnreachable)
	}
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "teammemd")
	resp, err := f.client.Do(req)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: asking who it is", ErrUnreachable)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Identity{}, fmt.Errorf("%w: asking who it is: status %d", ErrUnreachable, resp.StatusCode)
	}
	var who struct {
		ID       int64  `json:"id"`
		Login    string `json:"login"`    // GitHub, Gitea
		Username string `json:"username"` // GitLab
		Name     string `json:"name"`
		FullName string `json:"full_name"` // Gitea
	}
	if err := json.NewDecoder(resp.Body).Decode(&who); err != nil || who.ID <= 0 {
		return Identity{}, fmt.Errorf("%w: asking who it is: the answer is not about a person", ErrUnreachable)
	}
	login, name := who.Login, who.Name
	if login == "" {
		login = who.Username
	}
	if name == "" {
		name = who.FullName
	}
	// Emails stay out: a forge tells which one is shown, not which was verified.
	return Identity{Issuer: f.issuer, Subject: strconv.FormatInt(who.ID, 10), Login: login, Name: name, Token: token}, nil
}

// Renew returns a token that lives: token itself, or one that its refresh token
// gave. Errors are those of [Provider.Identify].
func (f *Forge) Renew(ctx context.Context, token *oauth2.Token) (*oauth2.Token, error) {
	fresh, err := f.config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, f.client), token).Token()
	if err != nil {
		return nil, explain("renewing a token", err)
	}
	return fresh, nil
}
