package signin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

const (
	// requestTime bounds one request to the server.
	requestTime = 20 * time.Second
	// maxAnswer bounds what is read of an answer, in bytes.
	maxAnswer = 1 << 20
	// feature is what a server lists that people can sign in to.
	feature = "sign-in"
)

// Server is an authorization server. Safe for concurrent use.
type Server struct {
	base string // canonical
	http *http.Client
}

// NewServer returns the authorization server at a URL. It makes no request. A
// transport of nil is the default one.
func NewServer(server string, transport http.RoundTripper) (*Server, error) {
	base, err := config.CanonicalServer(server)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	return &Server{base, &http.Client{
		Transport: transport, Timeout: requestTime,
		// A redirect could carry a token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// URL is the server's canonical URL.
func (s *Server) URL() string { return s.base }

// Offers returns nil when people can sign in to the server. Otherwise the error
// wraps [api.ErrUsage].
func (s *Server) Offers(ctx context.Context) error {
	var v api.ServerVersion
	err := s.get(ctx, api.PathVersion, &v)
	if errors.Is(err, api.ErrNotFound) || err == nil && !slices.Contains(v.Features, feature) {
		return fmt.Errorf("%w: %s has no sign-in for people", api.ErrUsage, s.base)
	}
	return err
}

// endpoints are those of RFC 8414 that we use.
type endpoints struct {
	Token  string `json:"token_endpoint"`
	Device string `json:"device_authorization_endpoint"`
	Revoke string `json:"revocation_endpoint"`
}

func (s *Server) endpoints(ctx context.Context) (endpoints, error) {
	var e endpoints
	if err := s.get(ctx, api.PathSignInMetadata, &e); err != nil {
		return e, err
	}
	for _, at := range []string{e.Token, e.Device, e.Revoke} {
		u, err := url.Parse(at)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || strings.HasPrefix(s.base, "https:")) {
			return e, fmt.Errorf("%w: an address that it names for signing in cannot be used", api.ErrBadAnswer)
		}
	}
	return e, nil
}

// config is what x/oauth2 is told. The style is set, since trying out both would
// poll twice and earn slow_down.
func (e endpoints) config() *oauth2.Config {
	return &oauth2.Config{ClientID: api.ClientCLI, Endpoint: oauth2.Endpoint{
		TokenURL: e.Token, DeviceAuthURL: e.Device, AuthStyle: oauth2.AuthStyleInParams,
	}}
}

func (s *Server) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, s.http)
}

// Begin asks for a code that a person approves in a browser.
func (s *Server) Begin(ctx context.Context, device string) (config.Pending, error) {
	e, err := s.endpoints(ctx)
	if err != nil {
		return config.Pending{}, err
	}
	got, err := e.config().DeviceAuth(s.with(ctx), oauth2.SetAuthURLParam("device", device))
	if err != nil {
		return config.Pending{}, judge(err)
	}
	p := config.Pending{
		Server: s.base, DeviceCode: got.DeviceCode, UserCode: api.CleanText(got.UserCode, 64),
		URI: page(got.VerificationURI), Complete: page(got.VerificationURIComplete),
		Interval: max(1, int(got.Interval)), Expires: got.Expiry.UTC(),
	}
	if p.DeviceCode == "" || p.UserCode == "" || p.URI == "" || p.Expires.IsZero() {
		return config.Pending{}, fmt.Errorf("%w: its answer to a sign-in is incomplete", api.ErrBadAnswer)
	}
	return p, nil
}

// page is an address that a browser may be sent to, "" for anything else.
func page(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// ErrPending says that nobody has answered yet.
var ErrPending = fmt.Errorf("%w: nobody has approved the sign-in yet", api.ErrSignedOut)

// The ends of a sign-in that came to nothing.
var (
	errDenied  = fmt.Errorf("%w: the sign-in was denied in the browser", api.ErrSignedOut)
	errExpired = fmt.Errorf("%w: the code expired before somebody approved it; run teammemd login for another", api.ErrSignedOut)
	errEnded   = fmt.Errorf("%w: the server ended this sign-in; run teammemd login", api.ErrSignedOut)
)

// Wait waits in the server's interval until somebody answered. Trouble on the
// way there is waited out until the code expires.
func (s *Server) Wait(ctx context.Context, p config.Pending) (config.Secrets, error) {
	e, err := s.endpoints(ctx)
	if err != nil {
		return config.Secrets{}, err
	}
	for {
		token, err := e.config().DeviceAccessToken(s.with(ctx), &oauth2.DeviceAuthResponse{
			DeviceCode: p.DeviceCode, Expiry: p.Expires, Interval: int64(p.Interval),
		})
		if err == nil {
			return secretsOf(token)
		}
		if ctx.Err() != nil {
			return config.Secrets{}, ctx.Err()
		}
		if !time.Now().Before(p.Expires) {
			return config.Secrets{}, errExpired
		}
		if err := judge(err); !passing(err) {
			return config.Secrets{}, err
		}
	}
}

// Ask asks once whether somebody answered; [ErrPending] when nobody did.
func (s *Server) Ask(ctx context.Context, p config.Pending) (config.Secrets, error) {
	e, err := s.endpoints(ctx)
	if err != nil {
		return config.Secrets{}, err
	}
	// The same request as DeviceAccessToken's, without its wait before the first.
	token, err := e.config().Exchange(s.with(ctx), "",
		oauth2.SetAuthURLParam("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
		oauth2.SetAuthURLParam("device_code", p.DeviceCode))
	if err != nil {
		return config.Secrets{}, judge(err)
	}
	return secretsOf(token)
}

// Refresh trades a refresh token for new tokens.
func (s *Server) Refresh(ctx context.Context, refresh string) (config.Secrets, error) {
	e, err := s.endpoints(ctx)
	if err != nil {
		return config.Secrets{}, err
	}
	token, err := e.config().TokenSource(s.with(ctx), &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return config.Secrets{}, judge(err)
	}
	return secretsOf(token)
}

// Revoke ends a token at the server, a refresh token with its whole sign-in.
func (s *Server) Revoke(ctx context.Context, token string) error {
	e, err := s.endpoints(ctx)
	if err != nil {
		return err
	}
	form := url.Values{"client_id": {api.ClientCLI}, "token": {token}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Revoke, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("%w: an address that it names for signing in cannot be used", api.ErrBadAnswer)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return s.do(req, nil)
}

func (s *Server) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: the server's address cannot be used", api.ErrUsage)
	}
	return s.do(req, into)
}

// do sends a request and decodes a 200 into what into points to, unless it is nil.
func (s *Server) do(req *http.Request, into any) error {
	resp, err := s.http.Do(req)
	if err != nil {
		return judge(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%w: the answer broke off", api.ErrOffline)
	}
	if resp.StatusCode != http.StatusOK {
		return judgeStatus(resp.StatusCode)
	}
	if into != nil && json.Unmarshal(body, into) != nil {
		return fmt.Errorf("%w: it sent something else than JSON; a proxy or sign-in page may be in between", api.ErrBadAnswer)
	}
	return nil
}

func secretsOf(t *oauth2.Token) (config.Secrets, error) {
	s := config.Secrets{Access: t.AccessToken, Refresh: t.RefreshToken, Expires: t.Expiry.UTC().Truncate(time.Second)}
	if s.Access == "" || s.Refresh == "" || t.Expiry.IsZero() {
		return s, fmt.Errorf("%w: its answer to a sign-in is incomplete", api.ErrBadAnswer)
	}
	return s, nil
}
