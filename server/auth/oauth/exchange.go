package oauth

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/store"
)

// The types of tokens of RFC 8693, section 3.
const (
	typeAccess = "urn:ietf:params:oauth:token-type:access_token"
	typeID     = "urn:ietf:params:oauth:token-type:id_token"
	typeJWT    = "urn:ietf:params:oauth:token-type:jwt"

	// machineClient is the client of tokens that were exchanged.
	machineClient = "token-exchange"
)

// exchange gives a machine a short token to read with, for one that its issuer
// signed.
func (s *Server) exchange(r *http.Request, form url.Values) (a tokenAnswer, err error) {
	kind, wanted := form.Get("subject_token_type"), form.Get("requested_token_type")
	switch {
	case s.o.Exchange == nil:
		return a, errGrantType
	case form.Get("subject_token") == "":
		return a, refuse("invalid_request", "subject_token is missing")
	case kind != typeID && kind != typeJWT:
		return a, refuse("invalid_request", "subject_token_type must be that of an id_token or jwt")
	case wanted != "" && wanted != typeAccess:
		return a, refuse("invalid_request", "the server gives access tokens only")
	case form.Get("actor_token") != "":
		return a, refuse("invalid_request", "there is no delegation here")
	}
	machine, err := s.o.Exchange.Judge(r.Context(), form.Get("subject_token"))
	switch {
	case errors.Is(err, upstream.ErrRefused):
		return a, errGrant
	case errors.Is(err, upstream.ErrUnreachable):
		s.log.WarnContext(r.Context(), "the keys of an issuer cannot be read", "error", err)
		return a, errUnavailable
	case err != nil:
		return a, err
	case len(machine.Repos) == 0:
		return a, errTarget
	}
	return s.admit(r, machine)
}

// admit makes the token. Where several policies fit, the first counts.
func (s *Server) admit(r *http.Request, machine upstream.Machine) (a tokenAnswer, err error) {
	pattern, err := auth.ParsePattern(machine.Repos[0])
	if err != nil {
		return a, errTarget // a claim that names no repo
	}
	now := s.now()
	name := api.CleanText(machine.Name, api.MaxActorBytes)
	f := store.Family{
		ID: auth.NewID(), Client: machineClient, Device: name, Generation: 1, CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(exchangeLife),
	}
	secret, hash := auth.NewSecret(auth.AccessPrefix)
	t := store.Token{
		ID: auth.NewID(), Name: name, Hash: hash, Repos: pattern.String(), Role: api.Reader, CreatedAt: now, ExpiresAt: f.ExpiresAt,
	}
	if err := s.o.Accounts.AddFamily(r.Context(), store.Issue{Family: f, Access: t}); err != nil {
		return a, err
	}
	s.record(r.Context(), store.ActionTokenCreate, "", name, `{"by":"exchange"}`)
	return tokenAnswer{AccessToken: secret, IssuedType: typeAccess, TokenType: "Bearer", ExpiresIn: seconds(exchangeLife)}, nil
}
