package remote

import (
	"context"
	"io"
	"net/http"
	"sync"

	"golang.org/x/oauth2"
)

// renewing sends requests with a token, and once more with a renewed one where the
// server refuses it: a clock that was set may have let a token live on here for
// longer than there.
type renewing struct {
	source oauth2.TokenSource
	renew  func(ctx context.Context, refused string) error
	base   http.RoundTripper

	mu       sync.Mutex
	hopeless string // a token that was refused although it was new; guarded by mu
}

// RoundTrip implements [http.RoundTripper].
func (t *renewing) RoundTrip(req *http.Request) (*http.Response, error) {
	token, resp, err := t.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !t.mayRenew(req, token) {
		return resp, err
	}
	next := t.again(req, token)
	if next == nil {
		return resp, nil // what the server said stands
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // for the connection to be used again
	_ = resp.Body.Close()
	return next, nil
}

// again sends a refused request with a renewed token; nil where there is none, or
// no answer.
func (t *renewing) again(req *http.Request, refused string) *http.Response {
	if t.renew(req.Context(), refused) != nil {
		return nil
	}
	next := req.Clone(req.Context())
	if req.GetBody != nil {
		body, err := req.GetBody()
		if err != nil {
			return nil
		}
		next.Body = body
	}
	fresh, resp, err := t.send(next)
	if err != nil {
		return nil
	}
	if resp.StatusCode == http.StatusUnauthorized {
		t.mu.Lock()
		t.hopeless = fresh
		t.mu.Unlock()
	}
	return resp
}

// send sends one request with the token that counts now.
func (t *renewing) send(req *http.Request) (token string, resp *http.Response, err error) {
	source := &seen{TokenSource: t.source}
	resp, err = (&oauth2.Transport{Source: source, Base: t.base}).RoundTrip(req)
	return source.token, resp, err
}

func (t *renewing) mayRenew(req *http.Request, token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return token != t.hopeless && (req.Body == nil || req.Body == http.NoBody || req.GetBody != nil)
}

// seen notes the token that it gives.
type seen struct {
	oauth2.TokenSource

	token string
}

// Token implements [oauth2.TokenSource].
func (s *seen) Token() (*oauth2.Token, error) {
	t, err := s.TokenSource.Token()
	if err == nil {
		s.token = t.AccessToken
	}
	return t, err
}
