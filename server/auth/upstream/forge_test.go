package upstream_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/auth/upstream/upstreamtest"
)

func newForge(tb testing.TB, f *upstreamtest.Forge) *upstream.Forge {
	tb.Helper()
	p, err := upstream.NewForge(upstream.ForgeOptions{Kind: upstream.GitHub, URL: f.URL, ClientID: upstreamtest.ClientID, ClientSecret: upstreamtest.ClientSecret})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// travel goes to an issuer as a browser does, and returns what it brings back.
func travel(tb testing.TB, p upstream.Provider, t upstream.Trip) url.Values {
	tb.Helper()
	to, err := p.AuthURL(tb.Context(), t)
	if err != nil {
		tb.Fatal(err)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Get(to)
	if err != nil {
		tb.Fatal(err)
	}
	resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || back.Query().Get("state") != t.State {
		tb.Fatalf("the browser came back with %q, %v", resp.Header.Get("Location"), err)
	}
	return back.Query()
}

func newTrip(callback string) upstream.Trip {
	return upstream.NewTrip(upstreamtest.Invent(), upstreamtest.Invent(), "https://memory.example.com"+callback)
}

func TestForge(t *testing.T) {
	f := upstreamtest.NewForge(t)
	p := newForge(t, f)
	trip := newTrip(upstreamtest.Callback)
	code := travel(t, p, trip).Get("code")
	who, err := p.Identify(t.Context(), code, trip)
	if err != nil {
		t.Fatal(err)
	}
	if who.Issuer != f.URL || who.Subject != "7" || who.Login != "ada" || who.Name != "Ada Lovelace" || who.Email != "" || !f.Knows(who.Token.AccessToken) {
		t.Errorf("%+v", who)
	}
	if _, err := p.Identify(t.Context(), code, trip); !errors.Is(err, upstream.ErrRefused) || !strings.Contains(err.Error(), "bad_verification_code") {
		t.Errorf("the code again: %v", err)
	}
	f.Fail = http.StatusBadGateway
	if _, err := p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip); !errors.Is(err, upstream.ErrUnreachable) {
		t.Errorf("a forge that is down: %v", err)
	}
	f.Fail, f.Who.ID = 0, 0
	if _, err := p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip); !errors.Is(err, upstream.ErrUnreachable) {
		t.Errorf("nobody: %v", err)
	}
}

// TestForgeSecrets: what the forge says with an error is in no error of ours.
func TestForgeSecrets(t *testing.T) {
	leak := strings.Join([]string{"gho", "leaked"}, "_")
	for _, body := range []string{`{"access_token":"` + leak + `"`, leak, `{"error":{"x":"` + leak + `"}}`} {
		f := upstreamtest.NewForge(t)
		client := &http.Client{Transport: answering(body)}
		p, err := upstream.NewForge(upstream.ForgeOptions{Kind: upstream.GitHub, URL: f.URL, ClientID: "x", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Identify(t.Context(), "code", newTrip(upstreamtest.Callback)); err == nil || strings.Contains(err.Error(), leak) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// answering answers everything with 500 and a body.
type answering string

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody, Request: r}
	rec.Body = http.MaxBytesReader(nil, readCloser{strings.NewReader(string(a))}, 1<<20)
	return &rec, nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func TestForgeEndpoints(t *testing.T) {
	for _, tt := range []struct {
		kind upstream.ForgeKind
		url  string
		page string
	}{
		{upstream.GitHub, "", "https://github.com/login/oauth/authorize?"},
		{upstream.GitHub, "https://git.example.com/", "https://git.example.com/login/oauth/authorize?"},
		{upstream.GitLab, "", "https://gitlab.com/oauth/authorize?"},
		{upstream.Gitea, "https://git.example.com/gitea", "https://git.example.com/gitea/login/oauth/authorize?"},
	} {
		p, err := upstream.NewForge(upstream.ForgeOptions{Kind: tt.kind, URL: tt.url, ClientID: "id"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := p.AuthURL(t.Context(), newTrip("/x")); err != nil || !strings.HasPrefix(got, tt.page) {
			t.Errorf("%s at %q: %q, %v", tt.kind, tt.url, got, err)
		}
	}
	for _, o := range []upstream.ForgeOptions{
		{Kind: "svn"},
		{Kind: upstream.Gitea},
		{Kind: upstream.GitHub, URL: "github.com"},
		{Kind: upstream.GitHub, URL: "https://user@github.example"},
		{Kind: upstream.GitHub, URL: "ftp://github.example"},
		{Kind: upstream.GitHub, URL: "https://github.example/?x"},
	} {
		if _, err := upstream.NewForge(o); err == nil {
			t.Errorf("%+v is a forge", o)
		}
	}
}
