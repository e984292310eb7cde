// Package upstreamtest has stand-ins for issuers. They are referees: a request
// that the real one would not take, or that says more than it must, fails the
// test.
package upstreamtest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// The app that is registered at a [Forge].
const (
	ClientID = "app-of-the-test"
	Callback = "/oauth/callback/forge"
)

// ClientSecret goes with [ClientID]. It is put together so that it looks like
// nobody's.
var ClientSecret = strings.Join([]string{"secret", "of", "the", "app"}, "-")

// Person is somebody who has an account.
type Person struct {
	ID    int64
	Login string
	Name  string
}

// Forge is a stand-in for GitHub at a base URL of its own, as GitHub Enterprise
// is. Its fields may be set before the first request.
type Forge struct {
	URL string
	// Who signs in next.
	Who Person
	// Deny makes the person say no.
	Deny bool
	// Life is how long tokens live, with refresh tokens beside them; 0: for ever.
	Life time.Duration
	// Fail, when it is not 0, is the status of every answer but of the page.
	Fail int
	// Slow lets the answers to renewals wait for it to be closed.
	Slow chan struct{}

	tb testing.TB

	mu      sync.Mutex // guards what follows
	codes   map[string]grant
	tokens  map[string]Person
	renewal map[string]Person
	renewed int
}

type grant struct {
	who                 Person
	challenge, redirect string
}

// NewForge starts one, until the test ends.
func NewForge(tb testing.TB) *Forge {
	tb.Helper()
	f := &Forge{tb: tb, Who: Person{7, "ada", "Ada Lovelace"}, codes: map[string]grant{}, tokens: map[string]Person{}, renewal: map[string]Person{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /login/oauth/authorize", f.authorize)
	mux.HandleFunc("POST /login/oauth/access_token", f.accessToken)
	mux.HandleFunc("GET /api/v3/user", f.user)
	f.URL = serve(tb, "the forge", mux)
	return f
}

// Renewed is how often a refresh token was taken.
func (f *Forge) Renewed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.renewed
}

// Invent returns a secret.
func Invent() string { return rand.Text() }

func (f *Forge) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	redirect, err := url.Parse(q.Get("redirect_uri"))
	challenge, decodeErr := base64.RawURLEncoding.DecodeString(q.Get("code_challenge"))
	switch {
	case q.Get("client_id") != ClientID, q.Get("response_type") != "code", err != nil, !strings.HasSuffix(redirect.Path, Callback):
		f.tb.Errorf("the forge's page was asked with %v", q)
	case q.Get("code_challenge_method") != "S256" || decodeErr != nil || len(challenge) != sha256.Size:
		f.tb.Errorf("the forge's page was asked without PKCE: %v", q)
	case len(q.Get("state")) < 22:
		f.tb.Error("the state can be guessed")
	case q.Get("client_secret") != "" || q.Get("scope") != "":
		f.tb.Errorf("the forge's page was told too much: %v", q)
	}
	answer := url.Values{"state": {q.Get("state")}}
	if f.Deny {
		answer.Set("error", "access_denied")
	} else {
		code := Invent()
		f.mu.Lock()
		f.codes[code] = grant{f.Who, q.Get("code_challenge"), q.Get("redirect_uri")}
		f.mu.Unlock()
		answer.Set("code", code)
	}
	redirect.RawQuery = answer.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound)
}

func (f *Forge) accessToken(w http.ResponseWriter, r *http.Request) {
	if f.Fail != 0 {
		w.WriteHeader(f.Fail)
		return
	}
	if err := r.ParseForm(); err != nil || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "" {
		f.tb.Errorf("the forge's token endpoint was asked with query %q, header %q, %v", r.URL.RawQuery, r.Header.Get("Authorization"), err)
	}
	if r.PostForm.Get("client_id") != ClientID || r.PostForm.Get("client_secret") != ClientSecret {
		f.tb.Error("the forge's token endpoint was asked by another client")
	}
	if r.PostForm.Get("grant_type") == "refresh_token" {
		f.renew(w, r.PostForm.Get("refresh_token"))
		return
	}
	f.mu.Lock()
	g, ok := f.codes[r.PostForm.Get("code")]
	delete(f.codes, r.PostForm.Get("code"))
	f.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	switch {
	case !ok: // GitHub answers with 200
		sendJSON(w, map[string]any{"error": "bad_verification_code", "error_description": "The code passed is incorrect or expired."})
		return
	case base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge, r.PostForm.Get("redirect_uri") != g.redirect:
		f.tb.Error("a code was redeemed without its verifier, or for another address")
	}
	f.give(w, g.who)
}

func (f *Forge) renew(w http.ResponseWriter, token string) {
	if f.Slow != nil {
		<-f.Slow
	}
	f.mu.Lock()
	who, ok := f.renewal[token]
	delete(f.renewal, token) // it works once
	f.renewed++
	f.mu.Unlock()
	if !ok {
		sendJSON(w, map[string]any{"error": "bad_refresh_token"})
		return
	}
	f.give(w, who)
}

// give answers with a new token.
func (f *Forge) give(w http.ResponseWriter, who Person) {
	access, refresh := Invent(), Invent()
	answer := map[string]any{"access_token": access, "token_type": "bearer", "scope": ""}
	f.mu.Lock()
	f.tokens[access] = who
	if f.Life > 0 {
		f.renewal[refresh] = who
		answer["refresh_token"], answer["expires_in"], answer["refresh_token_expires_in"] = refresh, int(f.Life/time.Second), 15897600
	}
	f.mu.Unlock()
	sendJSON(w, answer)
}

// Knows reports whether an access token is one of the forge's.
func (f *Forge) Knows(access string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, ok := f.tokens[access]
	return ok
}

func (f *Forge) user(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || r.URL.RawQuery != "" || r.Header.Get("User-Agent") == "" {
		f.tb.Errorf("the forge was asked who it is with headers %v and query %q", r.Header, r.URL.RawQuery)
	}
	f.mu.Lock()
	who, ok := f.tokens[token]
	f.mu.Unlock()
	if !ok {
		f.tb.Error("the forge was asked with a token that is not its own")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	sendJSON(w, map[string]any{"id": who.ID, "login": who.Login, "name": who.Name, "email": "shown@example.com", "site_admin": false})
}

func sendJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails only when the client is gone
}
