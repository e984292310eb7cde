package oauth_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/oauth"
)

// authorized lets a person approve what config asks, and returns what the
// browser was sent back with.
func (b *browser) authorized(config *oauth2.Config, verifier string) url.Values {
	b.Helper()
	page := b.get(config.AuthCodeURL("the-state", oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("device", "desk")))
	b.wantPage(page, 200, "Sign in teammemd on the command line?")
	return b.back(b.answer(page, api.PathAuthorize, "approve"), config.RedirectURL)
}

// back returns the query with which a browser was sent to redirect.
func (w *world) back(a answer, redirect string) url.Values {
	w.Helper()
	to, err := url.Parse(a.header.Get("Location"))
	if err != nil || a.status != 303 || !strings.HasPrefix(to.String(), redirect+"?") || a.header.Get("Cache-Control") != "no-store" {
		w.Fatalf("status %d to %q, want %q:\n%s", a.status, a.header.Get("Location"), redirect, a.body)
	}
	return to.Query()
}

func TestAuthorizationCode(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	config, verifier := w.config(), oauth2.GenerateVerifier()
	got := b.authorized(config, verifier)
	if got.Get("state") != "the-state" || got.Get("iss") != w.url {
		t.Errorf("%v", got)
	}
	token, err := config.Exchange(t.Context(), got.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	w.works(token.AccessToken)
	fresh, err := config.TokenSource(t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken, Expiry: time.Now().Add(-time.Hour)}).Token()
	if err != nil {
		t.Fatal(err)
	}
	w.works(fresh.AccessToken)
	// The code a second time: somebody else has it, and what came of it ends.
	if _, err := config.Exchange(t.Context(), got.Get("code"), oauth2.VerifierOption(verifier)); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		t.Errorf("a second time: %v", err)
	}
	for _, access := range []string{token.AccessToken, fresh.AccessToken} {
		w.fails(access)
	}
	w.wantRefusal("refreshing after that", w.refresh(fresh.RefreshToken), 400, "invalid_grant")
	if w.audited("refresh.reuse") != 1 {
		t.Errorf("audited: %+v", w.audits)
	}
}

func TestAuthorizationCodeIsBound(t *testing.T) {
	other := oauth.Client{ID: "other", Name: "Other", Redirects: []string{"https://pages.example/back"}}
	w := newWorld(t, func(o *oauth.Options) { o.Clients = []oauth.Client{oauth.CLI, other} })
	b := w.browser().joined("Ada")
	good := oauth2.GenerateVerifier()
	for name, tt := range map[string]struct {
		client, redirect, verifier string
		after                      time.Duration
	}{
		"another verifier":        {api.ClientCLI, "http://127.0.0.1:4711/callback", oauth2.GenerateVerifier(), 0},
		"the challenge itself":    {api.ClientCLI, "http://127.0.0.1:4711/callback", oauth2.S256ChallengeFromVerifier(good), 0},
		"a short verifier":        {api.ClientCLI, "http://127.0.0.1:4711/callback", good[:42], 0},
		"another port":            {api.ClientCLI, "http://127.0.0.1:4712/callback", good, 0},
		"another client":          {"other", "http://127.0.0.1:4711/callback", good, 0},
		"after a minute":          {api.ClientCLI, "http://127.0.0.1:4711/callback", good, time.Minute},
		"the registered redirect": {api.ClientCLI, "http://127.0.0.1/callback", good, 0},
	} {
		code := b.authorized(w.config(), good).Get("code")
		w.clock.Advance(tt.after)
		form := url.Values{"grant_type": {"authorization_code"}, "client_id": {tt.client}, "code": {code}, "redirect_uri": {tt.redirect}, "code_verifier": {tt.verifier}}
		w.wantRefusal(name, w.form(api.PathToken, form), 400, "invalid_grant")
		form.Set("client_id", api.ClientCLI)
		form.Set("redirect_uri", "http://127.0.0.1:4711/callback")
		form.Set("code_verifier", good)
		w.wantRefusal(name+", then right", w.form(api.PathToken, form), 400, "invalid_grant")
	}
	code := b.authorized(w.config(), good).Get("code")
	form := url.Values{"grant_type": {"authorization_code"}, "client_id": {api.ClientCLI}, "code": {code}, "redirect_uri": {"http://127.0.0.1:4711/callback"}, "code_verifier": {good}}
	w.wantTokens("right", w.form(api.PathToken, form))
}

// TestRedirects: the browser is sent to no address but the client's own.
func TestRedirects(t *testing.T) {
	pages := oauth.Client{ID: "pages", Name: "Pages", Redirects: []string{"https://pages.example/back"}}
	w := newWorld(t, func(o *oauth.Options) { o.Clients = []oauth.Client{oauth.CLI, pages} })
	b := w.browser().joined("Ada")
	good := map[string][]string{
		api.ClientCLI: {"http://127.0.0.1/callback", "http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback", "http://[::1]:4711/callback", "http://[::1]/callback"},
		"pages":       {"https://pages.example/back"},
	}
	bad := map[string][]string{
		api.ClientCLI: {
			"", "http://127.0.0.1:4711/", "http://127.0.0.1:4711/callback/", "http://127.0.0.1:4711/callback?x=1", "http://127.0.0.1:4711/callback#x",
			"https://127.0.0.1:4711/callback", "http://127.0.0.2:4711/callback", "http://localhost:4711/callback", "http://127.0.0.1.evil.example/callback",
			"http://127.0.0.1:4711@evil.example/callback", "http://user@127.0.0.1:4711/callback", "http://evil.example/callback", "//evil.example/callback",
			"http://127.0.0.1:4711/../callback", "http://127.0.0.1:4711\\@evil.example/callback", "http://127.0.0.1:x/callback", "http://127.0.0.1:/callback",
			"javascript:alert(1)", "http://[::1%25eth0]:4711/callback", "http://127.0.0.1:4711/callback%00", "HTTP://127.0.0.1:4711/callback", "http://127.1:4711/callback",
			"https://pages.example/back", "http://127.0.0.1:4711/call%62ack", "http://127.0.0.1:4711/callback?",
		},
		"pages": {"https://pages.example/back/", "https://pages.example:443/back", "http://pages.example/back", "https://pages.example/back?x", "http://127.0.0.1/callback"},
		"other": {"https://pages.example/back", "http://127.0.0.1:4711/callback"},
	}
	ask := func(client, redirect string) answer {
		return b.get(api.PathAuthorize + "?" + url.Values{
			"client_id": {client}, "redirect_uri": {redirect}, "response_type": {"code"}, "code_challenge_method": {"S256"},
			"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())}, "state": {"s"},
		}.Encode())
	}
	for client, redirects := range good {
		for _, redirect := range redirects {
			a := ask(client, redirect)
			if a.status != 200 || !strings.Contains(a.body, "Approve") {
				t.Errorf("%s %q: status %d", client, redirect, a.status)
			}
			source := strings.TrimSuffix(strings.TrimSuffix(redirect, "/callback"), "/back")
			if strings.Contains(redirect, "[") {
				source = "http:" // a policy cannot say more
			}
			if csp := a.header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' "+source+";") {
				t.Errorf("%q: the answer could not be sent: %s", redirect, csp)
			}
			w.back(b.answer(a, api.PathAuthorize, "approve"), redirect)
		}
	}
	for client, redirects := range bad {
		for _, redirect := range redirects {
			a := ask(client, redirect)
			w.wantPage(a, 400, "This cannot be")
			form := url.Values{"client_id": {client}, "redirect_uri": {redirect}, "action": {"approve"}, "response_type": {"code"}}
			if a := b.post(api.PathAuthorize, form); a.status != 400 || a.header.Get("Location") != "" {
				t.Errorf("%s %q was sent to %q (%d)", client, redirect, a.header.Get("Location"), a.status)
			}
		}
	}
}

// TestAuthorizeRefuses: what is wrong is told to the client's own address.
func TestAuthorizeRefuses(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())
	const redirect = "http://127.0.0.1:4711/callback"
	base := func(edit func(url.Values)) url.Values {
		q := url.Values{
			"client_id": {api.ClientCLI}, "redirect_uri": {redirect}, "response_type": {"code"}, "state": {"s&t=1"},
			"code_challenge": {challenge}, "code_challenge_method": {"S256"},
		}
		edit(q)
		return q
	}
	for name, tt := range map[string]struct {
		edit func(url.Values)
		code string
	}{
		"no response type": {func(q url.Values) { q.Del("response_type") }, "unsupported_response_type"},
		"a token at once":  {func(q url.Values) { q.Set("response_type", "token") }, "unsupported_response_type"},
		"no PKCE":          {func(q url.Values) { q.Del("code_challenge") }, "invalid_request"},
		"plain PKCE":       {func(q url.Values) { q.Set("code_challenge_method", "plain") }, "invalid_request"},
		"PKCE of no kind":  {func(q url.Values) { q.Del("code_challenge_method") }, "invalid_request"},
		"no challenge":     {func(q url.Values) { q.Set("code_challenge", challenge+"x") }, "invalid_request"},
		"a scope":          {func(q url.Values) { q.Set("scope", "x") }, "invalid_scope"},
		"denied":           {func(q url.Values) { q.Set("action", "deny") }, "access_denied"},
		"no answer":        {func(q url.Values) { q.Set("action", "maybe") }, "access_denied"},
	} {
		got := w.back(b.post(api.PathAuthorize, base(tt.edit)), redirect)
		if got.Get("error") != tt.code || got.Get("state") != "s&t=1" || got.Get("iss") != w.url || got.Has("code") {
			t.Errorf("%s: %v", name, got)
		}
	}
	stranger := w.browser()
	page := stranger.get(api.PathAuthorize + "?" + base(func(url.Values) {}).Encode())
	w.wantPage(page, 200, "Sign in")
	if next := fields(page.body).Get("next"); !strings.HasPrefix(next, api.PathAuthorize+"?") {
		t.Errorf("next: %q", next)
	}
	w.wantPage(stranger.post(api.PathAuthorize, base(func(q url.Values) { q.Set("action", "approve") })), 400, "Sign in")
	w.wantPage(b.get(api.PathAuthorize+"?client_id=a&client_id=b"), 400, "This did not work")
}
