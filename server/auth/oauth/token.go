package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
)

// The grant types.
const (
	grantDevice   = "urn:ietf:params:oauth:grant-type:device_code"
	grantCode     = "authorization_code"
	grantRefresh  = "refresh_token"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// tokenAnswer is RFC 6749, section 5.1.
type tokenAnswer struct {
	AccessToken  string `json:"access_token"`
	IssuedType   string `json:"issued_token_type,omitempty"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int    `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token,omitempty"`
}

func seconds(d time.Duration) int { return int(d / time.Second) }

// token is the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	answer, err := s.grant(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	sendJSON(w, http.StatusOK, answer)
}

func (s *Server) grant(r *http.Request) (tokenAnswer, error) {
	if err := s.spend(s.limits.token, s.o.Address(r)); err != nil {
		return tokenAnswer{}, err
	}
	form, err := readForm(r)
	if err != nil {
		return tokenAnswer{}, err
	}
	if form.Get("scope") != "" {
		return tokenAnswer{}, errScope
	}
	kind := form.Get("grant_type")
	if kind == grantExchange {
		return s.exchange(r, form)
	}
	by := map[string]func(*http.Request, Client, url.Values) (minted, error){
		grantDevice: s.byDevice, grantCode: s.byCode, grantRefresh: s.byRefresh,
	}[kind]
	switch {
	case kind == "":
		return tokenAnswer{}, refuse("invalid_request", "grant_type is missing")
	case by == nil:
		return tokenAnswer{}, errGrantType
	}
	client, err := s.client(r, form)
	if err != nil {
		return tokenAnswer{}, err
	}
	m, err := by(r, client, form)
	if err != nil {
		return tokenAnswer{}, err
	}
	return tokenAnswer{AccessToken: m.access, TokenType: "Bearer", ExpiresIn: seconds(accessLife), RefreshToken: m.refresh}, nil
}

// byDevice answers a poll.
func (s *Server) byDevice(r *http.Request, c Client, form url.Values) (m minted, err error) {
	secret := form.Get("device_code")
	switch {
	case secret == "":
		return m, refuse("invalid_request", "device_code is missing")
	case !looksLike(devicePrefix, secret):
		return m, errGrant
	}
	now := s.now()
	var request store.Request
	err = s.o.Accounts.ChangeRequest(r.Context(), store.DeviceRequest, auth.HashSecret(secret), func(have store.Request) (store.RequestChange, error) {
		request = have
		return poll(have, c.ID, now, s.family(&m, now, s.o.Address(r)))
	})
	if unknown(err) {
		return m, errGrant
	}
	if err != nil {
		return minted{}, err
	}
	s.record(r.Context(), store.ActionSignIn, request.User, request.Device, `{"by":"device"}`)
	return m, nil
}

// byCode redeems an authorization code.
func (s *Server) byCode(r *http.Request, c Client, form url.Values) (m minted, err error) {
	secret := form.Get("code")
	p := presentedCode{client: c.ID, redirect: form.Get("redirect_uri"), verifier: form.Get("code_verifier")}
	switch {
	case secret == "" || p.redirect == "" || p.verifier == "":
		return m, refuse("invalid_request", "code, redirect_uri and code_verifier are needed")
	case !looksLike(codePrefix, secret):
		return m, errGrant
	}
	now := s.now()
	var request store.Request
	err = s.o.Accounts.ChangeRequest(r.Context(), store.CodeRequest, auth.HashSecret(secret), func(have store.Request) (store.RequestChange, error) {
		request = have
		return redeem(have, p, now, s.family(&m, now, s.o.Address(r)))
	})
	switch {
	case unknown(err):
		return m, errGrant
	case errors.Is(err, errReplayed):
		return minted{}, s.replayed(r, request, now)
	case err != nil:
		return minted{}, err
	}
	s.record(r.Context(), store.ActionSignIn, request.User, request.Device, `{"by":"code"}`)
	return m, nil
}

// replayed ends what came of a code that came twice: RFC 6749, section 4.1.2.
func (s *Server) replayed(r *http.Request, request store.Request, now time.Time) error {
	if err := s.o.Accounts.RevokeFamily(r.Context(), request.Family, errReplayed.Error(), now); err != nil {
		return err
	}
	s.o.Auth.Forget()
	s.record(r.Context(), store.ActionReuse, request.User, request.Device, `{"of":"code"}`)
	return errGrant
}

// byRefresh answers a refresh token.
func (s *Server) byRefresh(r *http.Request, c Client, form url.Values) (m minted, err error) {
	secret := form.Get("refresh_token")
	switch {
	case secret == "":
		return m, refuse("invalid_request", "refresh_token is missing")
	case !looksLike(refreshPrefix, secret):
		return m, errGrant
	}
	now := s.now()
	var family store.Family
	err = s.o.Accounts.ChangeFamily(r.Context(), auth.HashSecret(secret), func(f store.Family, presented store.Refresh) (store.Issue, error) {
		family = f
		f.Address = s.o.Address(r)
		return refresh(f, presented, c.ID, now, s.issue(&m, now))
	})
	switch {
	case unknown(err):
		return m, errGrant
	case errors.Is(err, errReused):
		s.o.Auth.Forget()
		s.log.WarnContext(r.Context(), "a spent refresh token was used again, its sign-in was revoked", "user", family.User, "family", family.ID)
		s.record(r.Context(), store.ActionReuse, family.User, family.Device, `{"of":"refresh_token"}`)
		return minted{}, errGrant
	case err != nil:
		return minted{}, err
	}
	return m, nil
}
