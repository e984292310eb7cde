package upstreamtest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// Issuer is a stand-in for an OpenID Connect provider, with a real RSA key.
type Issuer struct {
	URL string
	// Claims of the person who signs in next, beside iss, aud, exp, iat and nonce.
	Claims map[string]any
	// Change alters the claims of an ID token before it is signed.
	Change func(claims map[string]any)
	// Sign replaces the signature; nil: RS256 with the issuer's key.
	Sign func(claims map[string]any) string
	// Down makes discovery fail.
	Down bool

	tb  testing.TB
	key *rsa.PrivateKey

	mu    sync.Mutex // guards what follows
	codes map[string]url.Values
}

var signingKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// NewIssuer starts one, until the test ends.
func NewIssuer(tb testing.TB) *Issuer {
	tb.Helper()
	key, err := signingKey()
	if err != nil {
		tb.Fatal(err)
	}
	i := &Issuer{tb: tb, key: key, codes: map[string]url.Values{}, Claims: map[string]any{
		"sub": "ada-0001", "preferred_username": "ada", "name": "Ada Lovelace", "email": "ada@example.com", "email_verified": true, "groups": []string{"dev", "ops"},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	i.URL = serve(tb, "the issuer", mux)
	return i
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	if i.Down {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	sendJSON(w, map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
		"n": b64(i.key.N.Bytes()), "e": b64(big.NewInt(int64(i.key.E)).Bytes()),
	}}})
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("nonce")) < 22 || len(q.Get("state")) < 22 {
		i.tb.Errorf("the issuer's page was asked with %v", q)
	}
	if !strings.Contains(" "+q.Get("scope")+" ", " openid ") {
		i.tb.Errorf("the issuer was asked for %q", q.Get("scope"))
	}
	redirect, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || redirect.Path != "/oauth/callback/oidc" {
		i.tb.Fatalf("the issuer was told to go back to %q", q.Get("redirect_uri"))
	}
	code := Invent()
	i.mu.Lock()
	i.codes[code] = q
	i.mu.Unlock()
	redirect.RawQuery = url.Values{"state": {q.Get("state")}, "code": {code}}.Encode()
	http.Redirect(w, r, redirect.String(), http.StatusFound)
}

func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.Header.Get("Authorization") != "" || r.PostForm.Get("client_secret") != ClientSecret {
		i.tb.Errorf("the issuer's token endpoint was asked with %v", r.Header)
	}
	i.mu.Lock()
	q, ok := i.codes[r.PostForm.Get("code")]
	delete(i.codes, r.PostForm.Get("code"))
	i.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	switch {
	case !ok:
		w.WriteHeader(http.StatusBadRequest)
		sendJSON(w, map[string]any{"error": "invalid_grant"})
		return
	case b64(sum[:]) != q.Get("code_challenge"), r.PostForm.Get("redirect_uri") != q.Get("redirect_uri"):
		i.tb.Error("a code was redeemed without its verifier, or for another address")
	}
	claims := maps.Clone(i.Claims)
	claims["nonce"] = q.Get("nonce")
	sendJSON(w, map[string]any{"access_token": Invent(), "token_type": "Bearer", "expires_in": 3600, "id_token": i.Token(ClientID, claims)})
}

// Token signs claims for an audience.
func (i *Issuer) Token(audience string, claims map[string]any) string {
	all := map[string]any{"iss": i.URL, "aud": audience, "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix()}
	maps.Copy(all, claims)
	if i.Change != nil {
		i.Change(all)
	}
	if i.Sign != nil {
		return i.Sign(all)
	}
	return i.Signed("RS256", all, i.key)
}

// Signed makes a JWT with a header that names alg; the signature is RS256's.
func (i *Issuer) Signed(alg string, claims map[string]any, key *rsa.PrivateKey) string {
	header, err := json.Marshal(map[string]any{"alg": alg, "kid": "1", "typ": "JWT"})
	if err != nil {
		i.tb.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		i.tb.Fatal(err)
	}
	text := b64(header) + "." + b64(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		i.tb.Fatal(err)
	}
	return text + "." + b64(signature)
}
