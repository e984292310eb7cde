package oauth

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
)

// metadataAnswer is RFC 8414, section 2.
type metadataAnswer struct {
	Issuer             string   `json:"issuer"`
	Authorization      string   `json:"authorization_endpoint"`
	Token              string   `json:"token_endpoint"`
	DeviceCode         string   `json:"device_authorization_endpoint"`
	Revocation         string   `json:"revocation_endpoint"`
	Introspection      string   `json:"introspection_endpoint"`
	ResponseTypes      []string `json:"response_types_supported"`
	ResponseModes      []string `json:"response_modes_supported"`
	GrantTypes         []string `json:"grant_types_supported"`
	ChallengeMethods   []string `json:"code_challenge_methods_supported"`
	TokenAuth          []string `json:"token_endpoint_auth_methods_supported"`
	RevocationAuth     []string `json:"revocation_endpoint_auth_methods_supported"`
	IssuerInTheAnswers bool     `json:"authorization_response_iss_parameter_supported"`
}

// metadata names the endpoints.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	base := s.base(r)
	a := metadataAnswer{
		Issuer: base, Authorization: base + api.PathAuthorize, Token: base + api.PathToken, DeviceCode: base + api.PathDeviceCode,
		Revocation: base + api.PathRevoke, Introspection: base + api.PathIntrospect,
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"}, GrantTypes: []string{grantCode, grantRefresh, grantDevice},
		ChallengeMethods: []string{"S256"}, TokenAuth: []string{"none"}, RevocationAuth: []string{"none"}, IssuerInTheAnswers: true,
	}
	if s.o.Exchange != nil {
		a.GrantTypes = append(a.GrantTypes, grantExchange)
	}
	sendJSON(w, http.StatusOK, a)
}

// revoke ends a sign-in by its refresh token, or one access token: RFC 7009. A
// token that there is not, or that is another client's, is a success as well.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	if err := s.end(r); err != nil {
		s.fail(w, r, err)
		return
	}
	noStore(w.Header())
	w.WriteHeader(http.StatusOK)
}

func (s *Server) end(r *http.Request) error {
	if err := s.spend(s.limits.token, s.o.Address(r)); err != nil {
		return err
	}
	form, err := readForm(r)
	if err != nil {
		return err
	}
	c, err := s.client(r, form)
	if err != nil {
		return err
	}
	secret := form.Get("token")
	switch {
	case secret == "":
		return refuse("invalid_request", "token is missing")
	case looksLike(refreshPrefix, secret):
		return s.endFamily(r.Context(), c, secret)
	case looksLike(auth.AccessPrefix, secret):
		return s.endAccess(r.Context(), c, secret)
	}
	return nil
}

var errRevoked = errors.New("signed out")

func (s *Server) endFamily(ctx context.Context, c Client, secret string) error {
	var family store.Family
	now := s.now()
	err := s.o.Accounts.ChangeFamily(ctx, auth.HashSecret(secret), func(f store.Family, _ store.Refresh) (store.Issue, error) {
		if f.Client != c.ID || !f.RevokedAt.IsZero() {
			return store.Issue{}, nil
		}
		family = f
		f.RevokedAt, f.Why = now, errRevoked.Error()
		return store.Issue{Family: f}, errRevoked
	})
	if !errors.Is(err, errRevoked) {
		if unknown(err) {
			return nil
		}
		return err
	}
	s.o.Auth.Forget()
	s.record(ctx, store.ActionSignOut, family.User, family.Device, "")
	return nil
}

// endAccess ends one access token of a sign-in, never a service token: those are
// no client's.
func (s *Server) endAccess(ctx context.Context, c Client, secret string) error {
	t, err := s.o.Auth.Look(ctx, secret)
	if errors.Is(err, store.ErrNoCredential) || err == nil && t.Family == "" {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := s.o.Accounts.Families(ctx, t.User)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.ID == t.Family && f.Client == c.ID {
			return s.o.Auth.Revoke(ctx, t.ID)
		}
	}
	return nil
}

// introspectAnswer is RFC 7662, section 2.2.
type introspectAnswer struct {
	Active    bool   `json:"active"`
	TokenType string `json:"token_type,omitempty"`
	Subject   string `json:"sub,omitempty"`
	Username  string `json:"username,omitempty"`
	Client    string `json:"client_id,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"` // seconds since 1970
	ExpiresAt int64  `json:"exp,omitempty"`
	Issuer    string `json:"iss,omitempty"`
	Device    string `json:"device,omitempty"`
	Repos     string `json:"repos,omitempty"`
	Role      string `json:"role,omitempty"`
}

// introspect tells an administrator about a token.
func (s *Server) introspect(w http.ResponseWriter, r *http.Request) {
	answer, err := s.lookInto(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	sendJSON(w, http.StatusOK, answer)
}

func (s *Server) lookInto(r *http.Request) (a introspectAnswer, err error) {
	if err := s.spend(s.limits.token, s.o.Address(r)); err != nil {
		return a, err
	}
	scheme, bearer, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return a, errUnauthorized
	}
	grant, err := s.o.Auth.Authenticate(r.Context(), strings.TrimSpace(bearer))
	if errors.Is(err, api.ErrSignedOut) || err == nil && !grant.IsAdmin() {
		return a, errUnauthorized
	}
	if err != nil {
		return a, err
	}
	form, err := readForm(r)
	if err != nil {
		return a, err
	}
	secret := form.Get("token")
	switch {
	case secret == "":
		return a, refuse("invalid_request", "token is missing")
	case looksLike(refreshPrefix, secret):
		return s.lookIntoFamily(r, secret)
	case looksLike(auth.AccessPrefix, secret):
		return s.lookIntoAccess(r, secret)
	}
	return a, nil
}

func (s *Server) lookIntoAccess(r *http.Request, secret string) (a introspectAnswer, err error) {
	t, err := s.o.Auth.Look(r.Context(), secret)
	if errors.Is(err, store.ErrNoCredential) {
		return a, nil
	}
	if err != nil || !t.RevokedAt.IsZero() || !t.ExpiresAt.IsZero() && !s.now().Before(t.ExpiresAt) {
		return a, err
	}
	a = introspectAnswer{Active: true, TokenType: "Bearer", Subject: t.ID, IssuedAt: t.CreatedAt.Unix(), Issuer: s.base(r), Device: t.Name, Repos: t.Repos}
	if !t.ExpiresAt.IsZero() {
		a.ExpiresAt = t.ExpiresAt.Unix()
	}
	if t.Role != api.NoRole {
		a.Role = t.Role.String()
	}
	if t.User != "" {
		a.Subject = t.User
		return s.named(r.Context(), a)
	}
	return a, nil
}

func (s *Server) lookIntoFamily(r *http.Request, secret string) (a introspectAnswer, err error) {
	var family store.Family
	live := false
	err = s.o.Accounts.ChangeFamily(r.Context(), auth.HashSecret(secret), func(f store.Family, presented store.Refresh) (store.Issue, error) {
		family, live = f, f.RevokedAt.IsZero() && presented.Generation == f.Generation
		return store.Issue{}, nil
	})
	if unknown(err) {
		return a, nil
	}
	if err != nil || !live || !s.now().Before(family.ExpiresAt) {
		return a, err
	}
	return s.named(r.Context(), introspectAnswer{
		Active: true, TokenType: "refresh_token", Subject: family.User, Client: family.Client, Device: family.Device,
		IssuedAt: family.RotatedAt.Unix(), ExpiresAt: family.ExpiresAt.Unix(), Issuer: s.base(r),
	})
}

// named adds who it is.
func (s *Server) named(ctx context.Context, a introspectAnswer) (introspectAnswer, error) {
	u, err := s.o.Accounts.User(ctx, a.Subject)
	if errors.Is(err, store.ErrNoUser) {
		return introspectAnswer{}, nil
	}
	a.Username = u.Login
	return a, err
}
