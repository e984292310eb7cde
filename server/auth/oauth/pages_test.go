package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/oauth"
)

// TestOtherSitesCannotAnswer: a form of another site does nothing, whatever
// cookies it carries.
func TestOtherSitesCannotAnswer(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	d := w.begin()
	for _, header := range []map[string]string{
		{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
	} {
		for _, path := range []string{api.PathDevice, api.PathAuthorize, api.PathSignIn, api.PathSignOut} {
			form := url.Values{"user_code": {d.UserCode}, "action": {"approve"}}
			req, err := http.NewRequest(http.MethodPost, w.url+path, strings.NewReader(form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			for name, value := range header {
				req.Header.Set(name, value)
			}
			w.wantRefusal(path, w.send(b.client, req), 403, "invalid_request")
		}
	}
	w.wantRefusal("still", w.poll(d), 400, "authorization_pending")
}

// TestCookies: no script sees them, no other site's form carries them, and with
// TLS no other host sets them.
func TestCookies(t *testing.T) {
	w := newWorld(t, func(o *oauth.Options) { o.URL = "https://memory.example.com" })
	code, err := w.auth.NewJoinCode(t.Context(), acme)
	if err != nil {
		t.Fatal(err)
	}
	b := w.browser()
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	a := b.post(api.PathSignIn, url.Values{"provider": {"local"}, "join_code": {code.Code}})
	cookie := a.header.Get("Set-Cookie")
	for _, want := range []string{"__Host-teammemd-session=tmb_", "Path=/", "HttpOnly", "Secure", "SameSite=Lax", "Max-Age=900"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("%q lacks %q", cookie, want)
		}
	}
	if strings.Contains(cookie, "Domain") {
		t.Errorf("%q", cookie)
	}
}

// TestPagesEscape: what a stranger's device calls itself is text.
func TestPagesEscape(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined(`<b>Ada</b>"`)
	d, err := w.config().DeviceAuth(t.Context(), oauth2.SetAuthURLParam("device", `<img src=x onerror=alert(1)> "'{{.Person}}`+"\u202e"))
	if err != nil {
		t.Fatal(err)
	}
	page := b.get("/device?user_code=" + d.UserCode)
	w.wantPage(page, 200, "Sign in this device?")
	if strings.Contains(page.body, "<img") || strings.Contains(page.body, "<b>") || strings.Contains(page.body, "\u202e") || !strings.Contains(page.body, "&lt;img") {
		t.Errorf("%s", page.body)
	}
	page = b.get("/oauth/authorize?" + url.Values{
		"client_id": {api.ClientCLI}, "redirect_uri": {"http://127.0.0.1:4711/callback"}, "response_type": {"code"}, "code_challenge_method": {"S256"},
		"code_challenge": {oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())}, "state": {`"><script>alert(1)</script>`}, "device": {"<i>"},
	}.Encode())
	if strings.Contains(page.body, "<script") || strings.Contains(page.body, "<i>") {
		t.Errorf("%s", page.body)
	}
	if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' http://127.0.0.1:4711;") {
		t.Errorf("the answer could not be sent: %s", csp)
	}
	got := w.back(b.answer(page, api.PathAuthorize, "approve"), "http://127.0.0.1:4711/callback")
	if got.Get("state") != `"><script>alert(1)</script>` {
		t.Errorf("state: %q", got.Get("state"))
	}
}

func TestUserCodesAsTyped(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	d := w.begin()
	for _, typed := range []string{d.UserCode, strings.ToLower(d.UserCode), strings.ReplaceAll(d.UserCode, "-", ""), " " + strings.ReplaceAll(d.UserCode, "-", " ") + "\t"} {
		w.wantPage(b.post(api.PathDevice, url.Values{"user_code": {typed}}), 200, "Sign in this device?")
	}
	for _, typed := range []string{d.UserCode + "B", d.UserCode[1:], "AEIO-UAEI", "1234-5678", strings.Repeat("-", 100) + d.UserCode, strings.NewReplacer("S", "ſ", "K", "\u212a").Replace("SK") + d.UserCode[2:]} {
		w.wantPage(b.post(api.PathDevice, url.Values{"user_code": {typed}}), 400, "Sign in a device")
		w.clock.Advance(time.Second)
	}
}

// TestUserCodesCannotBeGuessed: tries are bounded for a person, for an address,
// and for the codes.
func TestUserCodesCannotBeGuessed(t *testing.T) {
	address := ""
	w := newWorld(t, func(o *oauth.Options) { o.Address = func(*http.Request) string { return address } })
	address = "of the owner"
	d := w.begin()
	guess := func(b *browser) int {
		return b.post(api.PathDevice, url.Values{"user_code": {"BBBB-BBBB"}}).status
	}
	stranger := w.browser()
	w.wantPage(stranger.post(api.PathDevice, url.Values{"user_code": {d.UserCode}, "action": {"approve"}}), 400, "Sign in") // who has not signed in cannot even try

	address = "1"
	b := w.browser().joined("one")
	for range 10 {
		if got := guess(b); got != 400 {
			t.Fatalf("status %d", got)
		}
	}
	if got := guess(b); got != 429 {
		t.Errorf("the 11th try of a person: %d", got)
	}
	w.wantPage(b.post(api.PathDevice, url.Values{"user_code": {d.UserCode}}), 429, "Sign in a device") // nor the right one
	address = "2"
	if got := guess(b); got != 429 {
		t.Errorf("the same person from elsewhere: %d", got)
	}
	address = "1"
	other := w.browser().joined("two") // the join code counts as well: 13 so far
	limited := 0
	for range 10 {
		if guess(other) == 429 {
			limited++
		}
	}
	if limited == 0 {
		t.Error("an address may try as often as it has people")
	}
	w.wantRefusal("the code lives", w.poll(d), 400, "authorization_pending")
	for i := range 10 { // a crowd of people at as many addresses
		address = "crowd " + string(rune('a'+i))
		one := w.browser().joined(address)
		for range 10 {
			guess(one)
		}
	}
	w.wantRefusal("the code is burnt", w.poll(d), 400, "invalid_grant")
	address = "of the owner"
	w.wantRefusal("a later one lives", w.poll(w.begin()), 400, "authorization_pending")
}

// TestPagesAreLimited: looking at pages costs something as well.
func TestPagesAreLimited(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	for range 1000 {
		if a := b.get(api.PathSignIn); a.status != 200 {
			t.Fatalf("status %d", a.status)
		}
	}
	if a := b.get(api.PathSignIn); a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d, %v", a.status, a.header)
	}
}
