package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/oauth2"
)

// Provider is where people can sign in. Its methods may be called from any
// goroutine.
type Provider interface {
	// Title is how people know it, such as "GitHub".
	Title() string
	// AuthURL is where the browser goes on a trip.
	AuthURL(ctx context.Context, t Trip) (string, error)
	// Identify redeems the code with which the browser came back from the trip.
	// Errors wrap [ErrRefused], or [ErrUnreachable].
	Identify(ctx context.Context, code string, t Trip) (Identity, error)
}

// Errors of providers. None repeats what the issuer said beyond its error codes,
// which are words of a standard.
var (
	// ErrRefused says that the issuer does not vouch for the person.
	ErrRefused = errors.New("the issuer refused")
	// ErrUnreachable says that the issuer did not answer, or nothing that is one.
	ErrUnreachable = errors.New("the issuer cannot be reached")
)

// Identity is who somebody is.
type Identity struct {
	Issuer  string // "https://github.com", or the OIDC issuer
	Subject string // stable and unique there
	Login   string
	Name    string
	Email   string // only if the issuer verified it
	Groups  []string
	// Token asks the issuer about access in the person's name; nil for none.
	Token *oauth2.Token
}

// Trip is one visit to an issuer. All of it but State comes from a secret that
// only the browser has, so that a stolen code is of no use elsewhere.
type Trip struct {
	State    string // comes back with the code
	Nonce    string // comes back inside of an ID token
	Verifier string // PKCE
	Redirect string // where the browser comes back to
}

// NewTrip derives a trip from the browser's secret.
func NewTrip(state, secret, redirect string) Trip {
	return Trip{State: state, Nonce: derive("nonce", secret), Verifier: derive("verifier", secret), Redirect: redirect}
}

// Binding is what is stored to know the browser's secret again.
func Binding(secret string) string { return derive("binding", secret) }

func derive(what, secret string) string {
	sum := sha256.Sum256([]byte("teammemd trip " + what + "\x00" + secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const (
	// patience bounds one request to an issuer.
	patience = 10 * time.Second
	// maxAnswer bounds one answer, in bytes.
	maxAnswer = 1 << 20
)

// NewClient returns the client for issuers: bounded in time and size, and one
// that follows no redirect, since none of what it asks for is elsewhere.
func NewClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone() // it is documented to be one
	transport.ResponseHeaderTimeout = patience
	return &http.Client{
		Transport:     bounded{transport},
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// bounded cuts answers off.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// explain makes an error of x/oauth2 one that may be logged: the original quotes
// the issuer's answer, which may hold a token.
func explain(doing string, err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		if e.ErrorCode != "" {
			return fmt.Errorf("%w: %s: %.60q", ErrRefused, doing, e.ErrorCode)
		}
		if e.Response != nil {
			return fmt.Errorf("%w: %s: status %d", ErrUnreachable, doing, e.Response.StatusCode)
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s: %w", ErrUnreachable, doing, err)
	}
	return fmt.Errorf("%w: %s", ErrUnreachable, doing)
}
