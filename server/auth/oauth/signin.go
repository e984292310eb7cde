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

// defaultName is what somebody is called who did not say.
const defaultName = "guest"

// onlyOurs returns a path of ours to go on at: anything else would make the
// sign-in a way to send people elsewhere.
func onlyOurs(next string) string {
	u, err := url.Parse(next)
	if err != nil || len(next) > maxQuery || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return api.PathDevice
	}
	if u.Path != api.PathDevice && u.Path != api.PathAuthorize {
		return api.PathDevice
	}
	if u.RawQuery == "" {
		return u.Path
	}
	return u.Path + "?" + u.Query().Encode()
}

// provider returns an issuer by the name that forms and paths have for it.
func (s *Server) provider(name string) upstream.Provider {
	switch name {
	case "forge":
		return s.o.Forge
	case "oidc":
		return s.o.OIDC
	}
	return nil
}

// callbackPath is where an issuer sends the browser back to. Each has its own,
// so that one cannot be taken for another.
func callbackPath(name string) string {
	if name == "oidc" {
		return api.PathOIDCCallback
	}
	return api.PathForgeCallback
}

// showSignIn asks who somebody is, before they go on at next.
func (s *Server) showSignIn(w http.ResponseWriter, _ *http.Request, next, fault string) error {
	d := pageData{Title: "Sign in", Next: onlyOurs(next), Fault: fault, Local: s.o.Local}
	for _, name := range []string{"forge", "oidc"} {
		if p := s.provider(name); p != nil {
			d.Providers = append(d.Providers, providerButton{name, p.Title()})
		}
	}
	status := http.StatusOK
	if fault != "" {
		status = http.StatusBadRequest
	}
	return s.show(w, status, "signin", d)
}

// signInPage is where people begin who were not asked to.
func (s *Server) signInPage(w http.ResponseWriter, r *http.Request) error {
	return s.showSignIn(w, r, api.PathDevice, "")
}

// signIn takes a join code, or sends the browser to an issuer.
func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	next := onlyOurs(form.Get("next"))
	name := form.Get("provider")
	if name == "local" && s.o.Local {
		return s.signInByCode(w, r, form, next)
	}
	p := s.provider(name)
	if p == nil {
		return s.showSignIn(w, r, next, "Choose how to sign in.")
	}
	if err := s.spend(s.limits.begin, s.o.Address(r)); err != nil {
		return err
	}
	state, hash := auth.NewSecret(statePrefix)
	secret, _ := auth.NewSecret(browserPrefix)
	to, err := p.AuthURL(r.Context(), upstream.NewTrip(state, secret, s.base(r)+callbackPath(name)))
	if err != nil {
		s.log.WarnContext(r.Context(), "a sign-in could not begin", "provider", name, "error", err)
		return s.showSignIn(w, r, next, p.Title()+" cannot be reached. Try again in a moment.")
	}
	now := s.now()
	err = s.o.Accounts.AddRequest(r.Context(), store.Request{
		Kind: store.UpstreamRequest, Hash: hash, Client: name, Challenge: upstream.Binding(secret), Redirect: next,
		CreatedAt: now, ExpiresAt: now.Add(tripLife),
	})
	if err != nil {
		return err
	}
	s.setCookie(w, r, tripCookie, secret, tripLife)
	// A redirect would be held against form-action, with all that follow it.
	return s.show(w, http.StatusOK, "go", pageData{Title: "To " + p.Title(), Link: to})
}

// signInByCode redeems a join code: for the person who has signed in already,
// or for a new one.
func (s *Server) signInByCode(w http.ResponseWriter, r *http.Request, form url.Values, next string) error {
	if s.spend(s.limits.guess, s.o.Address(r)) != nil {
		return s.showSignIn(w, r, next, "Too many tries. Wait a few minutes.")
	}
	now := s.now()
	person, err := s.person(r)
	if errors.Is(err, errSignedOut) {
		login := s.o.CleanText(r.Context(), api.CleanText(form.Get("name"), api.MaxActorBytes))
		if login == "" {
			login = defaultName
		}
		person, err = store.User{ID: auth.NewID(), Issuer: store.IssuerLocal, Subject: auth.NewID(), Login: login, CreatedAt: now}, nil
	}
	if err != nil {
		return err
	}
	person.SeenAt = now
	joined, err := s.o.Accounts.JoinUser(r.Context(), auth.HashJoinCode(form.Get("join_code")), now, auth.CodeTries, person)
	if errors.Is(err, store.ErrNoCredential) {
		return s.showSignIn(w, r, next, "The join code is wrong, used or too old. Ask for a new one.")
	}
	if err != nil {
		return err
	}
	s.record(r.Context(), store.ActionJoin, joined.ID, "", `{"by":"pages"}`)
	if err := s.enter(w, r, joined); err != nil {
		return err
	}
	return s.goOn(w, r, next)
}

func (s *Server) goOn(w http.ResponseWriter, r *http.Request, next string) error {
	noStore(w.Header())
	http.Redirect(w, r, next, http.StatusSeeOther)
	return nil
}

// signOut ends the use of the pages, not of any device.
func (s *Server) signOut(w http.ResponseWriter, r *http.Request) error {
	s.leave(r.Context(), s.cookie(r, sessionCookie, browserPrefix))
	s.setCookie(w, r, sessionCookie, "", 0)
	return s.showSignIn(w, r, api.PathDevice, "")
}

// callback is where an issuer sends the browser back to.
func (s *Server) callback(name string) pageFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		p := s.provider(name)
		if p == nil {
			return &Error{Code: "invalid_request", Description: "there is nothing at this path", status: http.StatusNotFound}
		}
		if err := s.spend(s.limits.begin, s.o.Address(r)); err != nil {
			return err
		}
		query, err := readQuery(r)
		if err != nil {
			return err
		}
		return s.arrived(w, r, p, name, query)
	}
}

func (s *Server) arrived(w http.ResponseWriter, r *http.Request, p upstream.Provider, name string, query url.Values) error {
	const again = "The sign-in began in another browser, or too long ago. Begin anew."
	state, secret := query.Get("state"), s.cookie(r, tripCookie, browserPrefix)
	if !looksLike(statePrefix, state) || secret == "" {
		return s.showSignIn(w, r, "", again)
	}
	now := s.now()
	var begun store.Request
	err := s.o.Accounts.ChangeRequest(r.Context(), store.UpstreamRequest, auth.HashSecret(state), func(have store.Request) (store.RequestChange, error) {
		begun = have
		return arrive(have, trip{provider: name, binding: upstream.Binding(secret)}, now)
	})
	if unknown(err) || errors.Is(err, errOtherBrowser) {
		return s.showSignIn(w, r, "", again)
	}
	if err != nil {
		return err
	}
	s.setCookie(w, r, tripCookie, "", 0)
	if query.Get("error") != "" || query.Get("code") == "" {
		return s.showSignIn(w, r, begun.Redirect, p.Title()+" did not sign you in.")
	}
	who, err := p.Identify(r.Context(), query.Get("code"), upstream.NewTrip(state, secret, s.base(r)+callbackPath(name)))
	if err != nil {
		s.log.WarnContext(r.Context(), "an issuer did not vouch for somebody", "provider", name, "error", err)
		if errors.Is(err, upstream.ErrUnreachable) {
			return s.showSignIn(w, r, begun.Redirect, p.Title()+" cannot be reached. Try again in a moment.")
		}
		return s.showSignIn(w, r, begun.Redirect, p.Title()+" did not sign you in.")
	}
	return s.welcome(w, r, who, begun.Redirect)
}

// welcome keeps who somebody is, and goes on.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request, who upstream.Identity, next string) error {
	now := s.now()
	u := store.User{
		ID: auth.NewID(), Issuer: who.Issuer, Subject: who.Subject, CreatedAt: now, SeenAt: now, Groups: who.Groups,
		Login: api.CleanText(who.Login, api.MaxActorBytes), Name: api.CleanText(who.Name, api.MaxActorBytes), Email: api.CleanText(who.Email, api.MaxActorBytes),
	}
	if who.Token != nil && s.o.Sealer != nil {
		sealed, err := s.o.Sealer.Seal(who.Token, who.Issuer, who.Subject)
		if err != nil {
			return err
		}
		u.Upstream = sealed
	}
	saved, err := s.o.Accounts.SaveUser(r.Context(), u)
	if err != nil {
		return err
	}
	if err := s.enter(w, r, saved); err != nil {
		return err
	}
	return s.goOn(w, r, next)
}
