package oauth

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
)

// authorization is a request for an authorization code whose client and address
// to return to are good.
type authorization struct {
	client                             Client
	redirect, state, challenge, device string
}

// maxState bounds the parameter state, in bytes.
const maxState = 1024

// readAuthorization checks what a client asks for. An error that is an [Error]
// may be told to the client's address, which is good then; of any other the
// browser must not be sent anywhere: RFC 6749, section 4.1.2.1.
func (s *Server) readAuthorization(r *http.Request, form url.Values) (a authorization, err error) {
	client, ok := s.clients[form.Get("client_id")]
	if !ok || !client.allows(form.Get("redirect_uri")) {
		return a, errNotRegistered
	}
	a = authorization{
		client: client, redirect: form.Get("redirect_uri"), state: form.Get("state"),
		challenge: form.Get("code_challenge"), device: s.device(r.Context(), form),
	}
	switch {
	case len(a.state) > maxState:
		a.state = ""
		return a, refuse("invalid_request", "state is too long")
	case form.Get("response_type") != "code":
		return a, refuse("unsupported_response_type", "the server offers response_type=code")
	case form.Get("scope") != "":
		return a, errScope
	case form.Get("code_challenge_method") != "S256" || !isChallenge(a.challenge):
		return a, refuse("invalid_request", "PKCE is needed: code_challenge with code_challenge_method=S256")
	}
	return a, nil
}

// back returns the browser to the client.
func (s *Server) back(w http.ResponseWriter, r *http.Request, a authorization, answer url.Values) error {
	if a.state != "" {
		answer.Set("state", a.state)
	}
	answer.Set("iss", s.base(r)) // RFC 9207
	noStore(w.Header())
	http.Redirect(w, r, a.redirect+"?"+answer.Encode(), http.StatusSeeOther)
	return nil
}

// ask reads a request for a code, or answers it.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, form url.Values) (a authorization, answered bool, err error) {
	a, err = s.readAuthorization(r, form)
	if e, ok := errors.AsType[*Error](err); ok {
		return a, true, s.back(w, r, a, url.Values{"error": {e.Code}, "error_description": {e.Description}})
	}
	if errors.Is(err, errNotRegistered) {
		return a, true, s.show(w, http.StatusBadRequest, "done", pageData{Title: "This cannot be", Text: "The program that sent you here is not known, or asks to be answered at an address that is not its own."})
	}
	return a, err != nil, err
}

// authorizePage asks the person whether a client may act for them.
func (s *Server) authorizePage(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	a, answered, err := s.ask(w, r, query)
	if answered || err != nil {
		return err
	}
	person, err := s.person(r)
	if errors.Is(err, errSignedOut) {
		return s.showSignIn(w, r, api.PathAuthorize+"?"+query.Encode(), "")
	}
	if err != nil {
		return err
	}
	fields := url.Values{}
	for _, name := range []string{"client_id", "redirect_uri", "state", "response_type", "code_challenge", "code_challenge_method", "device"} {
		if query.Get(name) != "" {
			fields.Set(name, query.Get(name))
		}
	}
	return s.show(w, http.StatusOK, "consent", pageData{
		Title: "Sign in " + a.client.Name + "?", Person: person, Client: a.client.Name, Device: a.device, Fields: fields, Target: originOf(a.redirect),
	})
}

// originOf is where a good address leads, for the page's policy.
func originOf(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// authorizeAnswer gives a client the code, or the refusal.
func (s *Server) authorizeAnswer(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	a, answered, err := s.ask(w, r, form)
	if answered || err != nil {
		return err
	}
	person, err := s.person(r)
	if errors.Is(err, errSignedOut) {
		form.Del("action")
		return s.showSignIn(w, r, api.PathAuthorize+"?"+form.Encode(), "You were signed out meanwhile.")
	}
	if err != nil {
		return err
	}
	if form.Get("action") != "approve" {
		return s.back(w, r, a, url.Values{"error": {errDenied.Code}})
	}
	secret, hash := auth.NewSecret(codePrefix)
	now := s.now()
	err = s.o.Accounts.AddRequest(r.Context(), store.Request{
		Kind: store.CodeRequest, Hash: hash, Client: a.client.ID, User: person.ID, Device: a.device, Challenge: a.challenge, Redirect: a.redirect,
		CreatedAt: now, ExpiresAt: now.Add(codeLife),
	})
	if err != nil {
		return err
	}
	return s.back(w, r, a, url.Values{"code": {secret}})
}
