package gitea

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/teammem/teammemd/server/auth/upstream"
)

const home = "https://memory.example.com"

// travel goes to the forge with ada's browser, and returns what it brings back.
func travel(t *testing.T, client *http.Client, p upstream.Provider, trip upstream.Trip) url.Values {
	t.Helper()
	to, err := p.AuthURL(t.Context(), trip)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode == http.StatusOK { // she is asked
		resp = consent(t, client, resp)
	}
	defer resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || back.Query().Get("state") != trip.State || back.Query().Get("code") == "" {
		raw, _ := io.ReadAll(io.LimitReader(resp.Body, 2000))
		t.Fatalf("the browser came back with %d %q: %s", resp.StatusCode, resp.Header.Get("Location"), raw)
	}
	return back.Query()
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-z_]+)" value="([^"]*)">`)

// consent says yes on the forge's page.
func consent(t *testing.T, client *http.Client, page *http.Response) *http.Response {
	t.Helper()
	defer page.Body.Close()
	raw, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{"granted": {"true"}}
	for _, m := range hidden.FindAllStringSubmatch(string(raw), -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	if form.Get("client_id") == "" {
		t.Fatalf("no question: %.2000s", raw)
	}
	resp, err := client.PostForm(page.Request.URL.Scheme+"://"+page.Request.URL.Host+"/login/oauth/grant", form)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func newTrip(callback string) upstream.Trip {
	return upstream.NewTrip("a state that is long enough to be taken", "the secret of a browser", home+callback)
}

// TestForgeAsUpstream: a real forge tells who somebody is, its tokens are
// renewed, and its codes work once.
func TestForgeAsUpstream(t *testing.T) {
	g := start(t)
	const callback = "/oauth/callback/forge"
	id, secret := g.register(home + callback)
	p, err := upstream.NewForge(upstream.ForgeOptions{Kind: upstream.Gitea, URL: g.url, ClientID: id, ClientSecret: secret})
	if err != nil {
		t.Fatal(err)
	}
	browser, trip := g.browser(), newTrip(callback)
	code := travel(t, browser, p, trip).Get("code")
	who, err := p.Identify(t.Context(), code, trip)
	if err != nil {
		t.Fatal(err)
	}
	if who.Issuer != g.url || who.Subject != "1" || who.Login != "ada" || who.Name != "Ada Lovelace" || who.Token.RefreshToken == "" || who.Token.Expiry.IsZero() {
		t.Errorf("%s %s %s %s", who.Issuer, who.Subject, who.Login, who.Name)
	}
	if _, err := p.Identify(t.Context(), code, trip); !errors.Is(err, upstream.ErrRefused) {
		t.Errorf("the code again: %v", err)
	}
	other := trip
	other.Verifier = newTrip("").State + trip.Verifier
	if _, err := p.Identify(t.Context(), travel(t, browser, p, trip).Get("code"), other); !errors.Is(err, upstream.ErrRefused) {
		t.Errorf("another verifier: %v", err)
	}
	old := *who.Token
	old.Expiry = old.Expiry.AddDate(-1, 0, 0)
	fresh, err := p.Renew(t.Context(), &old)
	if err != nil || !fresh.Valid() { // two of one second are alike, but for how long they live by our count
		t.Errorf("renewing: %v", err)
	}
}

// TestForgeAsProvider: the same forge as an OpenID Connect provider.
func TestForgeAsProvider(t *testing.T) {
	g := start(t)
	const callback = "/oauth/callback/oidc"
	id, secret := g.register(home + callback)
	issuer := g.url
	p := upstream.NewOIDC(upstream.OIDCOptions{Issuer: issuer, ClientID: id, ClientSecret: secret, Scopes: []string{"groups"}})
	if _, err := p.AuthURL(t.Context(), newTrip(callback)); err != nil {
		p = upstream.NewOIDC(upstream.OIDCOptions{Issuer: issuer + "/", ClientID: id, ClientSecret: secret, Scopes: []string{"groups"}})
	}
	browser, trip := g.browser(), newTrip(callback)
	who, err := p.Identify(t.Context(), travel(t, browser, p, trip).Get("code"), trip)
	if err != nil {
		t.Fatal(err)
	}
	if who.Subject != "1" || who.Login != "ada" || who.Name != "Ada Lovelace" {
		t.Errorf("%+v", who)
	}
	other := trip
	other.Nonce = "of another sign-in"
	if _, err := p.Identify(t.Context(), travel(t, browser, p, trip).Get("code"), other); !errors.Is(err, upstream.ErrRefused) {
		t.Errorf("another nonce: %v", err)
	}
}
