package oauth

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
)

// deviceAnswer is RFC 8628, section 3.2.
type deviceCodeAnswer struct {
	DeviceCode string `json:"device_code"`
	UserCode   string `json:"user_code"`
	URI        string `json:"verification_uri"`
	Complete   string `json:"verification_uri_complete"`
	ExpiresIn  int    `json:"expires_in"` // seconds
	Interval   int    `json:"interval"`   // seconds
}

// deviceCode begins a device grant.
func (s *Server) deviceCode(w http.ResponseWriter, r *http.Request) {
	answer, err := s.beginDevice(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	sendJSON(w, http.StatusOK, answer)
}

func (s *Server) beginDevice(r *http.Request) (a deviceCodeAnswer, err error) {
	if err := s.spend(s.limits.begin, s.o.Address(r)); err != nil {
		return a, err
	}
	form, err := readForm(r)
	if err != nil {
		return a, err
	}
	c, err := s.client(r, form)
	switch {
	case err != nil:
		return a, err
	case !c.Device:
		return a, refuse("unauthorized_client", "this client may not use the device grant")
	case form.Get("scope") != "":
		return a, errScope
	}
	secret, hash := auth.NewSecret(devicePrefix)
	code, now := newUserCode(), s.now()
	err = s.o.Accounts.AddRequest(r.Context(), store.Request{
		Kind: store.DeviceRequest, Hash: hash, UserHash: hashUserCode(code), Client: c.ID, Device: s.device(r.Context(), form),
		CreatedAt: now, ExpiresAt: now.Add(deviceLife), Interval: pollInterval,
	})
	if err != nil {
		return a, err
	}
	uri := s.base(r) + api.PathDevice
	return deviceCodeAnswer{
		DeviceCode: secret, UserCode: showUserCode(code), URI: uri, Complete: uri + "?user_code=" + showUserCode(code),
		ExpiresIn: seconds(deviceLife), Interval: seconds(pollInterval),
	}, nil
}

// findDevice returns the open request of a typed code. A wrong one counts
// against the address, the person, and every open request.
func (s *Server) findDevice(r *http.Request, person store.User, typed string) (found store.Request, err error) {
	if err := s.spend(s.limits.guess, s.o.Address(r)); err != nil {
		return found, errTooManyTries
	}
	if err := s.spend(s.limits.typed, person.ID); err != nil {
		return found, errTooManyTries
	}
	code := canonicalUserCode(typed)
	if code == "" {
		return found, errCodeUnknown // misspelled: no guess
	}
	now := s.now()
	err = s.o.Accounts.ChangeDevice(r.Context(), hashUserCode(code), func(have store.Request) (store.RequestChange, error) {
		found = have
		return look(have, now)
	})
	if errors.Is(err, store.ErrNoRequest) {
		if err := s.o.Accounts.MissDevice(r.Context(), maxUserCodeTries); err != nil {
			return found, err
		}
		return found, errCodeUnknown
	}
	return found, err
}

// devicePage shows the form for a code, or what is asked by the device whose
// code it is.
func (s *Server) devicePage(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	return s.lookPage(w, r, query.Get("user_code"))
}

func (s *Server) lookPage(w http.ResponseWriter, r *http.Request, typed string) error {
	next := api.PathDevice
	if code := canonicalUserCode(typed); code != "" {
		next += "?user_code=" + showUserCode(code)
	}
	person, err := s.person(r)
	if errors.Is(err, errSignedOut) {
		return s.showSignIn(w, r, next, "")
	}
	if err != nil {
		return err
	}
	if typed == "" {
		return s.show(w, http.StatusOK, "code", pageData{Title: "Sign in a device", Person: person})
	}
	request, err := s.findDevice(r, person, typed)
	if err != nil {
		return s.wrongCode(w, person, err)
	}
	return s.show(w, http.StatusOK, "device", pageData{
		Title: "Sign in this device?", Person: person, Code: showUserCode(canonicalUserCode(typed)),
		Client: s.clients[request.Client].Name, Device: request.Device, At: request.CreatedAt,
	})
}

func (s *Server) wrongCode(w http.ResponseWriter, person store.User, err error) error {
	switch {
	case errors.Is(err, errTooManyTries):
		return s.show(w, http.StatusTooManyRequests, "code", pageData{Title: "Sign in a device", Person: person, Fault: "Too many tries. Wait a few minutes."})
	case errors.Is(err, errCodeUnknown):
		return s.show(w, http.StatusBadRequest, "code", pageData{Title: "Sign in a device", Person: person, Fault: "There is no such code, or it expired. Check what your device shows."})
	}
	return err
}

// deviceAnswer takes the typed code, and the person's answer.
func (s *Server) deviceAnswer(w http.ResponseWriter, r *http.Request) error {
	form, err := readForm(r)
	if err != nil {
		return err
	}
	approve := form.Get("action") == "approve"
	if !approve && form.Get("action") != "deny" {
		return s.lookPage(w, r, form.Get("user_code"))
	}
	person, err := s.person(r)
	if errors.Is(err, errSignedOut) {
		return s.showSignIn(w, r, api.PathDevice, "You were signed out meanwhile.")
	}
	if err != nil {
		return err
	}
	return s.decideDevice(w, r, person, form, approve)
}

func (s *Server) decideDevice(w http.ResponseWriter, r *http.Request, person store.User, form url.Values, approve bool) error {
	if _, err := s.findDevice(r, person, form.Get("user_code")); err != nil {
		return s.wrongCode(w, person, err)
	}
	now := s.now()
	err := s.o.Accounts.ChangeDevice(r.Context(), hashUserCode(canonicalUserCode(form.Get("user_code"))), func(have store.Request) (store.RequestChange, error) {
		return answerDevice(have, person.ID, approve, now)
	})
	if errors.Is(err, store.ErrNoRequest) {
		err = errCodeUnknown
	}
	if err != nil {
		return s.wrongCode(w, person, err)
	}
	if !approve {
		return s.show(w, http.StatusOK, "done", pageData{Title: "Denied", Person: person, Text: "The device was not signed in. You can close this page."})
	}
	return s.show(w, http.StatusOK, "done", pageData{Title: "Signed in", Person: person, Text: "Your device goes on by itself. You can close this page."})
}
