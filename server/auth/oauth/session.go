package oauth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
)

// errSignedOut says that nobody has signed in with this browser.
var errSignedOut = errors.New("nobody is signed in here")

// The cookies. With TLS their names keep other hosts of the same domain, and
// pages without TLS, from setting them.
const (
	sessionCookie = "teammemd-session" // who has signed in
	tripCookie    = "teammemd-trip"    // the browser's part of a trip to an issuer
	hostPrefix    = "__Host-"
)

func (s *Server) cookieName(r *http.Request, name string) string {
	if isHTTPS(s.base(r)) {
		return hostPrefix + name
	}
	return name
}

// setCookie sets a cookie that no script sees and that other sites' forms do not
// carry; links of theirs do, as the way back from an issuer needs. A life of 0
// deletes it.
func (s *Server) setCookie(w http.ResponseWriter, r *http.Request, name, value string, life time.Duration) {
	c := &http.Cookie{
		Name: s.cookieName(r, name), Value: value, Path: "/", MaxAge: seconds(life),
		HttpOnly: true, Secure: isHTTPS(s.base(r)), SameSite: http.SameSiteLaxMode,
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// cookie returns the secret in a cookie, "" for none that can be one.
func (s *Server) cookie(r *http.Request, name, prefix string) string {
	named := r.CookiesNamed(s.cookieName(r, name))
	if len(named) != 1 || !looksLike(prefix, named[0].Value) {
		return ""
	}
	return named[0].Value
}

// person returns who has signed in with this browser, or errSignedOut.
func (s *Server) person(r *http.Request) (store.User, error) {
	secret := s.cookie(r, sessionCookie, browserPrefix)
	if secret == "" {
		return store.User{}, errSignedOut
	}
	var session store.Request
	err := s.o.Accounts.ChangeRequest(r.Context(), store.BrowserRequest, auth.HashSecret(secret), func(have store.Request) (store.RequestChange, error) {
		session = have
		return store.RequestChange{}, nil
	})
	if unknown(err) || err == nil && !s.now().Before(session.ExpiresAt) {
		return store.User{}, errSignedOut
	}
	if err != nil {
		return store.User{}, err
	}
	u, err := s.o.Accounts.User(r.Context(), session.User)
	if errors.Is(err, store.ErrNoUser) {
		return u, errSignedOut
	}
	return u, err
}

// enter lets a person use the pages for a while.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, u store.User) error {
	s.leave(r.Context(), s.cookie(r, sessionCookie, browserPrefix))
	secret, hash := auth.NewSecret(browserPrefix)
	now := s.now()
	err := s.o.Accounts.AddRequest(r.Context(), store.Request{
		Kind: store.BrowserRequest, Hash: hash, User: u.ID, CreatedAt: now, ExpiresAt: now.Add(browserLife),
	})
	if err == nil {
		s.setCookie(w, r, sessionCookie, secret, browserLife)
	}
	return err
}

// leave ends what a cookie stands for, "" for nothing.
func (s *Server) leave(ctx context.Context, secret string) {
	if secret == "" {
		return
	}
	err := s.o.Accounts.ChangeRequest(ctx, store.BrowserRequest, auth.HashSecret(secret), func(have store.Request) (store.RequestChange, error) {
		have.Done = true
		return store.RequestChange{Request: have}, nil
	})
	if err != nil && !unknown(err) {
		s.log.WarnContext(ctx, "a session of the pages was not ended", "error", err) // it ends by itself soon
	}
}
