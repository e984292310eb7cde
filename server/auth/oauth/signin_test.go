package oauth_test

import (
	"html"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/auth/upstream/upstreamtest"
	"github.com/teammem/teammemd/server/store"
)

// upstreams are the issuers of a world.
type upstreams struct {
	forge  *upstreamtest.Forge
	issuer *upstreamtest.Issuer
	sealer *upstream.Sealer
}

// newUpstreamWorld is a world in which people sign in with a forge or a provider.
func newUpstreamWorld(t *testing.T) (*world, *upstreams) {
	t.Helper()
	up := &upstreams{forge: upstreamtest.NewForge(t), issuer: upstreamtest.NewIssuer(t)}
	forge, err := upstream.NewForge(upstream.ForgeOptions{Kind: upstream.GitHub, URL: up.forge.URL, ClientID: upstreamtest.ClientID, ClientSecret: upstreamtest.ClientSecret})
	if err != nil {
		t.Fatal(err)
	}
	if up.sealer, err = upstream.LoadSealer(filepath.Join(t.TempDir(), "key")); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, func(o *oauth.Options) {
		o.Forge, o.Sealer = forge, up.sealer
		o.OIDC = upstream.NewOIDC(upstream.OIDCOptions{Issuer: up.issuer.URL, ClientID: upstreamtest.ClientID, ClientSecret: upstreamtest.ClientSecret})
	}), up
}

var linkPattern = regexp.MustCompile(`<a href="([^"]*)"`)

// leave begins a sign-in with an issuer and returns where the issuer sends the
// browser back to.
func (b *browser) leave(provider, next string) string {
	b.Helper()
	a := b.post(api.PathSignIn, url.Values{"provider": {provider}, "next": {next}})
	m := linkPattern.FindStringSubmatch(a.body)
	if a.status != 200 || m == nil {
		b.Fatalf("status %d, no way to the issuer:\n%s", a.status, a.body)
	}
	to := html.UnescapeString(m[1])
	if !strings.Contains(a.body, `http-equiv="refresh"`) || strings.Contains(a.body, "<script") {
		b.Errorf("the browser does not go on by itself:\n%s", a.body)
	}
	return b.get(to).header.Get("Location")
}

// with lets a browser's client stop at the issuer's answer.
func (w *world) upstreamBrowser() *browser {
	b := w.browser()
	b.client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if strings.HasPrefix(via[0].URL.String(), w.url+"/") && strings.HasPrefix(r.URL.String(), w.url+"/") {
			return nil
		}
		return http.ErrUseLastResponse
	}
	return b
}

func TestSignInUpstream(t *testing.T) {
	for _, provider := range []string{"forge", "oidc"} {
		t.Run(provider, func(t *testing.T) {
			w, up := newUpstreamWorld(t)
			d := w.begin()
			b := w.upstreamBrowser()
			back := b.leave(provider, "/device?user_code="+d.UserCode)
			page := b.get(back)
			w.wantPage(page, 200, "Sign in this device?")
			w.wantPage(b.answer(page, api.PathDevice, "approve"), 200, "Signed in")
			got := w.wantTokens("device", w.poll(d))
			g, err := w.auth.Authenticate(t.Context(), got.Access)
			if err != nil || g.User == "" || g.Account().Login != "ada" || g.Role(acme) != api.NoRole || g.Bound(acme) != api.Admin {
				t.Errorf("%+v, %v", g, err)
			}
			u := g.Account()
			if provider == "oidc" {
				if u.Issuer != up.issuer.URL || u.Email != "ada@example.com" || len(u.Groups) != 2 || u.Upstream != nil {
					t.Errorf("%+v", u)
				}
			} else {
				token, err := up.sealer.Open(u.Upstream, u.Issuer, u.Subject)
				if err != nil || u.Issuer != up.forge.URL || u.Subject != "7" || !up.forge.Knows(token.AccessToken) {
					t.Errorf("%+v, %v", u, err)
				}
				w.fails(token.AccessToken) // a raw token of an issuer opens nothing
				w.wantRefusal("nor is it exchanged", w.refresh(token.AccessToken), 400, "invalid_grant")
			}
			// The same way a second time leads nowhere.
			w.wantPage(b.get(back), 400, "Sign in")
			// Signing in again is the same person.
			b2 := w.upstreamBrowser()
			w.wantPage(b2.get(b2.leave(provider, "/device")), 200, "Sign in a device")
			users, err := w.accounts.Users(t.Context())
			if err != nil || len(users) != 1 || users[0].ID != u.ID {
				t.Errorf("%d users, %v", len(users), err)
			}
		})
	}
}

// TestTripIsBound: a code of an issuer is good for the browser that began the
// trip alone, once, in time, and for this issuer.
func TestTripIsBound(t *testing.T) {
	w, up := newUpstreamWorld(t)
	signedOut := func(what string, b *browser) {
		t.Helper()
		w.wantPage(b.get("/device"), 200, "Sign in")
		if users, err := w.accounts.Users(t.Context()); err != nil || len(users) != 0 {
			t.Errorf("%s: %d users, %v", what, len(users), err)
		}
	}
	thief, victim := w.upstreamBrowser(), w.upstreamBrowser()
	stolen := thief.leave("forge", "/device")
	w.wantPage(victim.get(stolen), 400, "Sign in") // no cookie: a sign-in that somebody else began
	signedOut("without a cookie", victim)
	victim.leave("forge", "/device") // now with a cookie, of another trip
	w.wantPage(victim.get(stolen), 400, "Sign in")
	signedOut("with another cookie", victim)
	w.wantPage(thief.get(stolen), 400, "Sign in") // it was tried once
	signedOut("after a wrong try", thief)

	late := w.upstreamBrowser()
	back := late.leave("forge", "/device")
	w.clock.Advance(10 * time.Minute)
	w.wantPage(late.get(back), 400, "Sign in")
	signedOut("too late", late)

	mixed := w.upstreamBrowser()
	back = mixed.leave("forge", "/device")
	w.wantPage(mixed.get(strings.Replace(back, api.PathForgeCallback, api.PathOIDCCallback, 1)), 400, "Sign in")
	signedOut("at the other issuer's path", mixed)

	no := w.upstreamBrowser()
	up.forge.Deny = true
	w.wantPage(no.get(no.leave("forge", "/device")), 400, "Sign in")
	signedOut("denied", no)
	up.forge.Deny = false

	forged := w.upstreamBrowser()
	back = forged.leave("forge", "/device")
	w.wantPage(forged.get(regexp.MustCompile(`code=[^&]*`).ReplaceAllString(back, "code=guessed")), 400, "Sign in")
	signedOut("a guessed code", forged)
	w.wantPage(forged.get(api.PathForgeCallback+"?state=x&code=y"), 400, "Sign in")

	up.issuer.Change = func(c map[string]any) { c["nonce"] = "another" }
	replayed := w.upstreamBrowser()
	w.wantPage(replayed.get(replayed.leave("oidc", "/device")), 400, "Sign in")
	signedOut("an ID token of another sign-in", replayed)

	up.issuer.Change, up.forge.Fail = nil, 502
	down := w.upstreamBrowser()
	if a := down.get(down.leave("forge", "/device")); !strings.Contains(a.body, "cannot be reached") {
		t.Errorf("a forge that is down: %s", a.body)
	}
	signedOut("a forge that is down", down)
	for _, word := range []string{"tms_", "tmb_", "guessed"} {
		if strings.Contains(w.log.String(), word) {
			t.Errorf("the log holds %q:\n%s", word, w.log.String())
		}
	}
}

func TestNextIsOurs(t *testing.T) {
	w := newWorld(t)
	for _, next := range []string{
		"https://evil.example/device", "//evil.example/device", `/\evil.example/device`, "/device/../x", "javascript:alert(1)", "/oauth/token", "", "device",
		"/%2f/evil.example", "http:/device", "/device\n", "https:device", "/" + strings.Repeat("x", 9000), "\x00",
	} {
		code, err := w.auth.NewJoinCode(t.Context(), acme)
		if err != nil {
			t.Fatal(err)
		}
		a := w.browser().post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}, "next": {next}})
		if a.url.String() != w.url+"/device" {
			t.Errorf("%q led to %q", next, a.url)
		}
		w.clock.Advance(time.Minute)
	}
	b := w.browser()
	code, err := w.auth.NewJoinCode(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	a := b.post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}, "next": {"/device?user_code=BCDF-GHJK"}})
	if a.url.String() != w.url+"/device?user_code=BCDF-GHJK" {
		t.Errorf("led to %q", a.url)
	}
}

func TestJoinCodes(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada\x00\u202e")
	users, err := w.accounts.Users(t.Context())
	if err != nil || len(users) != 1 || users[0].Login != "Ada" || users[0].Issuer != store.IssuerLocal {
		t.Fatalf("%+v, %v", users, err)
	}
	// Who has signed in adds another repo to their own account.
	web, err := api.ParseRepo("acme/web")
	if err != nil {
		t.Fatal(err)
	}
	now := w.signedIn(b)
	code, err := w.auth.NewJoinCode(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	b.post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}})
	w.clock.Advance(time.Second)
	g, err := w.auth.Authenticate(t.Context(), now.Access)
	if err != nil || g.Role(web) != api.Writer || g.Role(acme) != api.Writer {
		t.Errorf("%+v, %v", g, err)
	}
	w.wantPage(w.browser().post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}}), 400, "Sign in")
	off := newWorld(t, func(o *oauth.Options) { o.Local = false })
	fresh, err := off.auth.NewJoinCode(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	off.wantPage(off.browser().post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {fresh.Code}}), 400, "Sign in")
	if a := off.browser().get(api.PathSignIn); !strings.Contains(a.body, "no way to sign in") {
		t.Errorf("%s", a.body)
	}
}

// TestSessionsEnd: what a browser may do ends by itself, and when asked.
func TestSessionsEnd(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	w.clock.Advance(15*time.Minute - time.Millisecond)
	w.wantPage(b.get("/device"), 200, "Sign in a device")
	w.clock.Advance(time.Millisecond)
	w.wantPage(b.get("/device"), 200, "Sign in")
	b = w.browser().joined("Bob")
	jar := b.client.Jar
	u, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	kept := jar.Cookies(u)
	w.wantPage(b.post(api.PathSignOut, url.Values{}), 200, "Sign in")
	if len(jar.Cookies(u)) != 0 {
		t.Errorf("cookies stay: %v", jar.Cookies(u))
	}
	jar.SetCookies(u, kept) // the secret is worth nothing now
	w.wantPage(b.get("/device"), 200, "Sign in")
}
