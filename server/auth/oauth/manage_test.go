package oauth_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/auth/upstream/upstreamtest"
)

func TestMetadata(t *testing.T) {
	for _, public := range []string{"", "https://memory.example.com"} {
		w := newWorld(t, func(o *oauth.Options) { o.URL = public })
		base := public
		if base == "" {
			base = w.url
		}
		req, err := http.NewRequest(http.MethodGet, w.url+api.PathSignInMetadata, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(w.send(http.DefaultClient, req).body), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"issuer": base, "authorization_endpoint": base + "/oauth/authorize", "token_endpoint": base + "/oauth/token",
			"device_authorization_endpoint": base + "/oauth/device_authorization", "revocation_endpoint": base + "/oauth/revoke",
			"introspection_endpoint": base + "/oauth/introspect", "response_types_supported": []any{"code"}, "response_modes_supported": []any{"query"},
			"grant_types_supported":            []any{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"},
			"code_challenge_methods_supported": []any{"S256"}, "token_endpoint_auth_methods_supported": []any{"none"},
			"revocation_endpoint_auth_methods_supported": []any{"none"}, "authorization_response_iss_parameter_supported": true,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	for _, bad := range []string{"memory.example.com", "https://memory.example.com/", "ftp://x", "https://", "https://x/?y"} {
		if _, err := oauth.New(oauth.Options{Accounts: newWorld(t).accounts, Auth: newWorld(t).auth, URL: bad}); err == nil {
			t.Errorf("%q is a public URL", bad)
		}
	}
}

func (w *world) revoke(token string) answer {
	w.Helper()
	return w.form(api.PathRevoke, url.Values{"client_id": {api.ClientCLI}, "token": {token}})
}

func TestRevoke(t *testing.T) {
	w := newWorld(t)
	b := w.browser().joined("Ada")
	one, other := w.signedIn(b), w.signedIn(b)
	_, service, err := w.auth.Create(t.Context(), "ci", "*", api.Reader, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	next := w.wantTokens("refresh", w.refresh(one.Refresh))
	for what, token := range map[string]string{
		"an unknown one": secretLike("tmr_"), "an unknown access token": secretLike("tm_"), "nonsense": "x", "a service token": service, "a device code": secretLike("tmd_"),
	} {
		if a := w.revoke(token); a.status != 200 || a.body != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}
	if _, err := w.auth.Authenticate(t.Context(), service); err != nil {
		t.Errorf("a stranger revoked a service token: %v", err)
	}
	w.wantRefusal("no token", w.form(api.PathRevoke, url.Values{"client_id": {api.ClientCLI}}), 400, "invalid_request")
	w.wantRefusal("no client", w.form(api.PathRevoke, url.Values{"token": {one.Refresh}}), 401, "invalid_client")
	w.works(next.Access)
	w.revoke(next.Access) // the access token alone
	w.fails(next.Access)
	again := w.wantTokens("the sign-in goes on", w.refresh(next.Refresh))
	w.works(again.Access)
	for range 2 {
		if a := w.revoke(again.Refresh); a.status != 200 {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	w.fails(again.Access)
	w.wantRefusal("refreshing what was signed out", w.refresh(again.Refresh), 400, "invalid_grant")
	w.works(other.Access)
	if w.audited("sign-out") != 1 || w.audited("refresh.reuse") != 0 {
		t.Errorf("audited: %+v", w.audits)
	}
}

func TestIntrospect(t *testing.T) {
	w := newWorld(t)
	mine := w.signedIn(w.browser().joined("Ada"))
	secrets := map[string]string{}
	for name, repos := range map[string]string{"admin": "*", "partly": "acme/*", "reader": "*"} {
		role := api.Admin
		if name == "reader" {
			role = api.Reader
		}
		var err error
		if _, secrets[name], err = w.auth.Create(t.Context(), name, repos, role, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(bearer, token string) answer {
		return w.form(api.PathIntrospect, url.Values{"token": {token}}, "Authorization", "Bearer "+bearer)
	}
	for who, bearer := range map[string]string{"nobody": "", "a reader": secrets["reader"], "an admin of some": secrets["partly"], "a person": mine.Access, "a refresh token": mine.Refresh} {
		w.wantRefusal(who, ask(bearer, mine.Access), 401, "invalid_token")
	}
	w.wantRefusal("no token", w.form(api.PathIntrospect, url.Values{}, "Authorization", "Bearer "+secrets["admin"]), 400, "invalid_request")
	w.wantRefusal("another scheme", w.form(api.PathIntrospect, url.Values{}, "Authorization", "Basic "+secrets["admin"]), 401, "invalid_token")
	active := func(token string) map[string]any {
		var got map[string]any
		a := ask(secrets["admin"], token)
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return got
	}
	for what, token := range map[string]string{"unknown": secretLike("tm_"), "nonsense": "x", "unknown refresh": secretLike("tmr_")} {
		if diff := cmp.Diff(map[string]any{"active": false}, active(token)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	users, err := w.accounts.Users(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := float64(w.clock.Now().Unix())
	want := map[string]any{
		"active": true, "token_type": "Bearer", "sub": users[0].ID, "username": "Ada", "iat": now, "exp": now + 3600, "iss": w.url, "device": "ada's laptop",
	}
	if diff := cmp.Diff(want, active(mine.Access)); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
	want["token_type"], want["client_id"], want["exp"] = "refresh_token", api.ClientCLI, now+90*24*3600
	if diff := cmp.Diff(want, active(mine.Refresh)); diff != "" {
		t.Errorf("refresh (-want +got):\n%s", diff)
	}
	if got := active(secrets["reader"]); got["role"] != "reader" || got["repos"] != "*" || got["active"] != true {
		t.Errorf("service token: %v", got)
	}
	next := w.wantTokens("refresh", w.refresh(mine.Refresh))
	if got := active(mine.Refresh); got["active"] != false {
		t.Errorf("a spent refresh token: %v", got)
	}
	w.revoke(next.Refresh)
	for _, token := range []string{mine.Access, next.Access, next.Refresh} {
		if got := active(token); len(got) != 1 {
			t.Errorf("after the sign-out: %v", got)
		}
	}
}

func TestExchange(t *testing.T) {
	issuer := upstreamtest.NewIssuer(t)
	e, err := upstream.NewExchange(upstream.ExchangeOptions{
		Issuer: issuer.URL, Audience: "https://memory.example.com", Policies: []string{"repository_owner=acme ref=refs/heads/main -> {repository}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(o *oauth.Options) { o.Exchange = e })
	claims := map[string]any{"sub": "repo:acme/api:ref:refs/heads/main", "repository_owner": "acme", "repository": "acme/api", "ref": "refs/heads/main"}
	good := func() url.Values {
		return url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
			"subject_token": {issuer.Token("https://memory.example.com", claims)},
		}
	}
	got := w.wantTokens("exchange", w.form(api.PathToken, good()))
	if got.Expires != 900 || got.Refresh != "" || got.Issued != "urn:ietf:params:oauth:token-type:access_token" {
		t.Errorf("%+v", got)
	}
	g, err := w.auth.Authenticate(t.Context(), got.Access)
	other, parseErr := api.ParseRepo("acme/web")
	if err != nil || parseErr != nil || g.Role(acme) != api.Reader || g.Role(other) != api.NoRole || g.User != "" || g.Name != claims["sub"] {
		t.Errorf("%+v, %v", g, err)
	}
	w.clock.Advance(15 * time.Minute)
	w.fails(got.Access)
	if list, err := w.auth.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("it stands among the service tokens: %v, %v", list, err)
	}
	for name, tt := range map[string]struct {
		edit func(url.Values)
		code string
	}{
		"no token":          {func(f url.Values) { f.Del("subject_token") }, "invalid_request"},
		"no type":           {func(f url.Values) { f.Del("subject_token_type") }, "invalid_request"},
		"an access token":   {func(f url.Values) { f.Set("subject_token_type", "urn:ietf:params:oauth:token-type:access_token") }, "invalid_request"},
		"a refresh token":   {func(f url.Values) { f.Set("requested_token_type", "urn:ietf:params:oauth:token-type:refresh_token") }, "invalid_request"},
		"for somebody else": {func(f url.Values) { f.Set("actor_token", "x") }, "invalid_request"},
		"nonsense":          {func(f url.Values) { f.Set("subject_token", "x") }, "invalid_grant"},
		"another audience":  {func(f url.Values) { f.Set("subject_token", issuer.Token("https://other.example", claims)) }, "invalid_grant"},
		"no policy": {func(f url.Values) {
			f.Set("subject_token", issuer.Token("https://memory.example.com", map[string]any{"sub": "x"}))
		}, "invalid_target"},
		"a name of no repo": {func(f url.Values) {
			f.Set("subject_token", issuer.Token("https://memory.example.com", with(claims, "repository", "x")))
		}, "invalid_target"},
		"a name of all": {func(f url.Values) {
			f.Set("subject_token", issuer.Token("https://memory.example.com", with(claims, "repository", "**")))
		}, "invalid_target"},
		"a branch's request": {func(f url.Values) {
			f.Set("subject_token", issuer.Token("https://memory.example.com", with(claims, "ref", "refs/pull/1/merge")))
		}, "invalid_target"},
	} {
		form := good()
		tt.edit(form)
		w.wantRefusal(name, w.form(api.PathToken, form), 400, tt.code)
	}
	issuer.Down = true
	if !slices.Contains(strings.Fields(w.log.String()), "action=token.create") {
		t.Error("the exchange was not logged")
	}
}

func with(claims map[string]any, name, value string) map[string]any {
	claims = maps.Clone(claims)
	claims[name] = value
	return claims
}
