package oauth_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
)

// secretLike is a secret of the right shape that nobody gave out.
func secretLike(prefix string) string { return prefix + strings.Repeat("A", 43) }

func TestTokenEndpointRefuses(t *testing.T) {
	w := newWorld(t)
	const device = "urn:ietf:params:oauth:grant-type:device_code"
	cli := api.ClientCLI
	tests := []struct {
		name   string
		form   url.Values
		header []string
		status int
		code   string
	}{
		{"nothing", url.Values{}, nil, 400, "invalid_request"},
		{"no grant", url.Values{"client_id": {cli}}, nil, 400, "invalid_request"},
		{"an unknown grant", url.Values{"client_id": {cli}, "grant_type": {"password"}}, nil, 400, "unsupported_grant_type"},
		{"no exchange here", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}}, nil, 400, "unsupported_grant_type"},
		{"no client", url.Values{"grant_type": {device}, "device_code": {"x"}}, nil, 401, "invalid_client"},
		{"an unknown client", url.Values{"client_id": {"other"}, "grant_type": {device}, "device_code": {"x"}}, nil, 401, "invalid_client"},
		{"a secret", url.Values{"client_id": {cli}, "client_secret": {"x"}, "grant_type": {device}, "device_code": {"x"}}, nil, 401, "invalid_client"},
		{"basic authentication", url.Values{"client_id": {cli}, "grant_type": {device}, "device_code": {"x"}}, []string{"Authorization", "Basic eDp5"}, 401, "invalid_client"},
		{"a scope", url.Values{"client_id": {cli}, "grant_type": {device}, "device_code": {"x"}, "scope": {"all"}}, nil, 400, "invalid_scope"},
		{"no device code", url.Values{"client_id": {cli}, "grant_type": {device}}, nil, 400, "invalid_request"},
		{"a wrong device code", url.Values{"client_id": {cli}, "grant_type": {device}, "device_code": {"x"}}, nil, 400, "invalid_grant"},
		{"an unknown device code", url.Values{"client_id": {cli}, "grant_type": {device}, "device_code": {secretLike("tmd_")}}, nil, 400, "invalid_grant"},
		{"no code", url.Values{"client_id": {cli}, "grant_type": {"authorization_code"}}, nil, 400, "invalid_request"},
		{"a code without PKCE", url.Values{"client_id": {cli}, "grant_type": {"authorization_code"}, "code": {secretLike("tmc_")}, "redirect_uri": {"http://127.0.0.1/callback"}}, nil, 400, "invalid_request"},
		{"an unknown code", url.Values{"client_id": {cli}, "grant_type": {"authorization_code"}, "code": {secretLike("tmc_")}, "redirect_uri": {"http://127.0.0.1/callback"}, "code_verifier": {"x"}}, nil, 400, "invalid_grant"},
		{"no refresh token", url.Values{"client_id": {cli}, "grant_type": {"refresh_token"}}, nil, 400, "invalid_request"},
		{"a wrong refresh token", url.Values{"client_id": {cli}, "grant_type": {"refresh_token"}, "refresh_token": {"x"}}, nil, 400, "invalid_grant"},
		{"an unknown refresh token", url.Values{"client_id": {cli}, "grant_type": {"refresh_token"}, "refresh_token": {secretLike("tmr_")}}, nil, 400, "invalid_grant"},
		{"another site", url.Values{}, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403, "invalid_request"},
		{"JSON", url.Values{}, []string{"Content-Type", "application/json"}, 415, "invalid_request"},
		{"twice", url.Values{"client_id": {cli, cli}, "grant_type": {device}, "device_code": {"x"}}, nil, 400, "invalid_request"},
		{"not UTF-8", url.Values{"client_id": {"\xff"}, "grant_type": {device}}, nil, 400, "invalid_request"},
		{"too large", url.Values{"x": {strings.Repeat("x", 33<<10)}}, nil, 413, "invalid_request"},
	}
	for _, tt := range tests {
		w.wantRefusal(tt.name, w.form(api.PathToken, tt.form, tt.header...), tt.status, tt.code)
	}
	a := w.form(api.PathToken, url.Values{"client_id": {"other"}, "grant_type": {device}})
	if a.header.Get("WWW-Authenticate") == "" {
		t.Error("a 401 names no scheme")
	}
	// What stands in the URL does not count, so that it is in no log.
	d := w.begin()
	q := url.Values{"client_id": {cli}, "grant_type": {device}, "device_code": {d.DeviceCode}}
	w.wantRefusal("in the URL", w.form(api.PathToken+"?"+q.Encode(), url.Values{}), 400, "invalid_request")
	req, err := http.NewRequest(http.MethodGet, w.url+api.PathToken+"?"+q.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	w.wantRefusal("GET", w.send(http.DefaultClient, req), 405, "invalid_request")
}

func TestDeviceEndpointRefuses(t *testing.T) {
	w := newWorld(t)
	for name, tt := range map[string]struct {
		form   url.Values
		status int
		code   string
	}{
		"no client": {url.Values{}, 401, "invalid_client"},
		"a secret":  {url.Values{"client_id": {api.ClientCLI}, "client_secret": {"x"}}, 401, "invalid_client"},
		"a scope":   {url.Values{"client_id": {api.ClientCLI}, "scope": {"x"}}, 400, "invalid_scope"},
	} {
		w.wantRefusal(name, w.form(api.PathDeviceCode, tt.form), tt.status, tt.code)
	}
}

// TestBeginsAreLimited: one address cannot fill the store.
func TestBeginsAreLimited(t *testing.T) {
	w := newWorld(t)
	for range 40 {
		w.begin()
	}
	a := w.form(api.PathDeviceCode, url.Values{"client_id": {api.ClientCLI}})
	w.wantRefusal("the 41st", a, 429, "temporarily_unavailable")
	if a.header.Get("Retry-After") != "3" {
		t.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
}
