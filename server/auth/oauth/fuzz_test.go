package oauth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/oauth"
)

// doors are all paths of the authorization server.
var doors = []string{
	api.PathSignInMetadata, api.PathDeviceCode, api.PathToken, api.PathRevoke, api.PathIntrospect, api.PathAuthorize, api.PathDevice, api.PathSignIn,
	api.PathSignOut, api.PathForgeCallback, api.PathOIDCCallback, "/elsewhere",
}

// isExpected reports whether a browser may be sent to such a place.
func isExpected(to string) bool {
	u, err := url.Parse(to)
	if err != nil || u.User != nil {
		return false
	}
	if u.Host == "" {
		return u.Scheme == "" && (u.Path == api.PathDevice || u.Path == api.PathAuthorize)
	}
	return u.Scheme == "http" && u.Path == "/callback" && (u.Hostname() == "127.0.0.1" || u.Hostname() == "::1")
}

// FuzzDoors: whatever is sent to whichever path, with and without a session, the
// answer is a page or JSON, never a 5xx, and it is kept by no cache.
func FuzzDoors(f *testing.F) {
	asked := 0 // each request comes from an address of its own, or limits would answer most
	w := newWorld(f, func(o *oauth.Options) {
		o.Address = func(*http.Request) string { return strconv.Itoa(asked) }
	})
	b := w.browser().joined("Ada")
	here, err := url.Parse(w.url)
	if err != nil {
		f.Fatal(err)
	}
	session := func() string { return b.client.Jar.Cookies(here)[0].String() }
	now := w.signedIn(b)
	_, admin, err := w.auth.Create(f.Context(), "admin", "*", api.Admin, w.clock.Now().AddDate(1, 0, 0))
	if err != nil {
		f.Fatal(err)
	}
	d := w.begin()
	for i, body := range []string{
		"", "client_id=teammemd-cli", "client_id=teammemd-cli&grant_type=refresh_token&refresh_token=" + now.Refresh,
		"client_id=teammemd-cli&grant_type=urn:ietf:params:oauth:grant-type:device_code&device_code=" + d.DeviceCode,
		"user_code=" + d.UserCode, "user_code=" + d.UserCode + "&action=approve", "token=" + now.Access, "a=%zz", "a=1&a=2", "=&&=", "\xff=\xfe",
		"response_type=code&client_id=teammemd-cli&redirect_uri=http://127.0.0.1:1/callback&code_challenge_method=S256&code_challenge=" + strings.Repeat("A", 43) + "&action=approve",
		"provider=local&join_code=0000-0000&name=x&next=//evil", "provider=forge", "state=tms_" + strings.Repeat("A", 43) + "&code=x",
	} {
		f.Add(uint8(i), i%2 == 0, body, body, i%3 > 0, admin)
	}
	f.Fuzz(func(t *testing.T, door uint8, post bool, query, body string, signedIn bool, bearer string) {
		w.TB = t                    // whose help it is now
		if asked++; asked%50 == 0 { // sessions end, and people may type so many codes a minute
			w.clock.Advance(10 * time.Minute)
			b = w.browser().joined("Ada")
		}
		path := doors[int(door)%len(doors)]
		method := http.MethodGet
		if post {
			method = http.MethodPost
		}
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.URL.RawQuery = query
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if signedIn {
			r.Header.Set("Cookie", session())
		}
		r.Header.Set("Authorization", "Bearer "+bearer)
		rec := httptest.NewRecorder()
		w.oauth.ServeHTTP(rec, r)
		if rec.Code >= 500 || rec.Code < 200 {
			t.Fatalf("%s %s: status %d: %s", method, path, rec.Code, rec.Body)
		}
		if rec.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%s %s: it may be cached: %v", method, path, rec.Header())
		}
		if to := rec.Header().Get("Location"); to != "" && !isExpected(to) {
			t.Fatalf("%s %s: the browser is sent to %q", method, path, to)
		}
		kind := rec.Header().Get("Content-Type")
		switch {
		case rec.Body.Len() == 0:
		case kind == "application/json":
			if !json.Valid(rec.Body.Bytes()) {
				t.Fatalf("%s %s: not JSON: %q", method, path, rec.Body)
			}
		case kind == "text/html; charset=utf-8":
			if rec.Code < 300 && rec.Header().Get("Content-Security-Policy") == "" {
				t.Fatalf("%s %s: a page without a policy", method, path)
			}
		default:
			t.Fatalf("%s %s: an answer of the type %q", method, path, kind)
		}
	})
}
