package oauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/store"
)

// Options configure [New].
type Options struct {
	// Accounts keeps people, requests and families. Required.
	Accounts store.Accounts
	// Auth knows the access tokens. Required.
	Auth *auth.Auth
	// URL is where browsers and clients reach the server, without a slash at its
	// end. Default: what each request says, which suits one address.
	URL string
	// Clients may ask for tokens. Default: [CLI].
	Clients []Client
	// Forge and OIDC are where people may sign in; nil for not there.
	Forge, OIDC upstream.Provider
	// Local lets people sign in by a join code.
	Local bool
	// Sealer seals what an issuer gave. Without it nothing of that is kept.
	Sealer *upstream.Sealer
	// Exchange judges the tokens of machines; nil for no exchange.
	Exchange *upstream.Exchange
	// CleanText makes free text of a stranger fit to be kept. Default: it is
	// bounded and loses control characters.
	CleanText func(ctx context.Context, text string) string
	// Audit records what happened. Default: only the log.
	Audit func(ctx context.Context, e store.Event) error
	// Address is whom a request counts against. Default: the peer's address.
	Address func(r *http.Request) string
	// Log gets failures, and what is audited. Default: discarded.
	Log *slog.Logger
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// Server answers the paths of the authorization server. Its methods may be
// called from any goroutine.
type Server struct {
	o       Options
	log     *slog.Logger
	clients map[string]Client
	routes  map[string]map[string]http.HandlerFunc
	cross   *http.CrossOriginProtection
	limits  limits
}

// New returns a Server. It starts nothing. The error wraps [api.ErrConfig].
func New(o Options) (*Server, error) {
	if o.Accounts == nil || o.Auth == nil {
		return nil, fmt.Errorf("%w: signing in needs accounts and an auth", api.ErrConfig)
	}
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "" || (u.Scheme != "https" && u.Scheme != "http") {
			return nil, fmt.Errorf("%w: the public URL must be https://host or https://host:port", api.ErrConfig)
		}
	}
	if o.Clients == nil {
		o.Clients = []Client{CLI}
	}
	if o.CleanText == nil {
		o.CleanText = func(_ context.Context, text string) string { return text }
	}
	if o.Address == nil {
		o.Address = remoteAddress
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{o: o, log: o.Log, clients: map[string]Client{}, cross: http.NewCrossOriginProtection(), limits: newLimits()}
	for _, c := range o.Clients {
		s.clients[c.ID] = c
	}
	s.routes = s.table()
	return s, nil
}

func (s *Server) table() map[string]map[string]http.HandlerFunc {
	get := func(h http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: h}
	}
	post := func(h http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodPost: h}
	}
	both := func(get, post http.HandlerFunc) map[string]http.HandlerFunc {
		return map[string]http.HandlerFunc{http.MethodGet: get, http.MethodPost: post}
	}
	return map[string]map[string]http.HandlerFunc{
		api.PathSignInMetadata: get(s.metadata),
		api.PathDeviceCode:     post(s.deviceCode),
		api.PathToken:          post(s.token),
		api.PathRevoke:         post(s.revoke),
		api.PathIntrospect:     post(s.introspect),
		api.PathAuthorize:      both(s.page(s.authorizePage), s.page(s.authorizeAnswer)),
		api.PathDevice:         both(s.page(s.devicePage), s.page(s.deviceAnswer)),
		api.PathSignIn:         both(s.page(s.signInPage), s.page(s.signIn)),
		api.PathSignOut:        post(s.page(s.signOut)),
		api.PathForgeCallback:  get(s.page(s.callback("forge"))),
		api.PathOIDCCallback:   get(s.page(s.callback("oidc"))),
	}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	methods, ok := s.routes[r.URL.Path]
	if !ok {
		s.fail(w, r, &Error{Code: "invalid_request", Description: "there is nothing at this path", status: http.StatusNotFound})
		return
	}
	handle, ok := methods[r.Method]
	if !ok {
		s.fail(w, r, errMethod)
		return
	}
	if err := s.cross.Check(r); err != nil {
		s.fail(w, r, errCrossOrigin)
		return
	}
	handle(w, r)
}

// now is the time as it is stored.
func (s *Server) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

// base is the server's URL as the world knows it.
func (s *Server) base(r *http.Request) string {
	if s.o.URL != "" {
		return s.o.URL
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	// What a client claims to have asked goes back to that client alone.
	if u, err := url.Parse(scheme + "://" + r.Host); err == nil && u.Host == r.Host && u.User == nil && u.Path == "" {
		return scheme + "://" + r.Host
	}
	return scheme + "://localhost"
}

// client returns the client of a form. Ours have no secret: who sends one, or
// tries another way, is not one of them.
func (s *Server) client(r *http.Request, form url.Values) (Client, error) {
	c, ok := s.clients[form.Get("client_id")]
	if !ok || form.Get("client_secret") != "" || r.Header.Get("Authorization") != "" {
		return Client{}, errClient
	}
	return c, nil
}

// record notes in audit and log what happened.
func (s *Server) record(ctx context.Context, action, user, device, detail string) {
	s.log.InfoContext(ctx, "sign-in event", "action", action, "user", user)
	if s.o.Audit == nil {
		return
	}
	e := store.Event{Action: action, Actor: api.Actor{User: user, Device: device}, At: s.now(), Detail: detail}
	// It happened: that the client went away must not keep it from being noted.
	if err := s.o.Audit(context.WithoutCancel(ctx), e); err != nil {
		s.log.ErrorContext(ctx, "event was not audited", "action", action, "error", err)
	}
}

// device is what a client calls its machine.
func (s *Server) device(ctx context.Context, form url.Values) string {
	return s.o.CleanText(ctx, api.CleanText(form.Get("device"), api.MaxActorBytes))
}

// minted are the secrets of an issue, which only the client gets.
type minted struct{ access, refresh string }

// family makes the first tokens of a sign-in and leaves their secrets in m.
func (s *Server) family(m *minted, now time.Time, address string) mint {
	return func(r store.Request) store.Issue {
		f := store.Family{
			ID: auth.NewID(), User: r.User, Client: r.Client, Device: r.Device, Address: address, Generation: 1,
			CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(refreshLife),
		}
		return s.issue(m, now)(f)
	}
}

// issue makes tokens of a family's newest generation.
func (s *Server) issue(m *minted, now time.Time) func(store.Family) store.Issue {
	return func(f store.Family) store.Issue {
		var i store.Issue
		m.refresh, i.Refresh = auth.NewSecret(refreshPrefix)
		i.Family = f
		m.access, i.Access.Hash = auth.NewSecret(auth.AccessPrefix)
		i.Access.ID, i.Access.Name = auth.NewID(), f.Client
		if f.Device != "" {
			i.Access.Name = f.Device
		}
		i.Access.CreatedAt, i.Access.ExpiresAt = now, now.Add(accessLife)
		return i
	}
}

// known reports whether err says only that there is no such thing.
func unknown(err error) bool {
	return errors.Is(err, store.ErrNoRequest) || errors.Is(err, store.ErrNoFamily)
}

// isHTTPS reports whether cookies may be kept to TLS.
func isHTTPS(base string) bool { return strings.HasPrefix(base, "https://") }
