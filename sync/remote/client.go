package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
)

// maxAnswerBytes bounds what a client reads of one answer, in bytes: twenty
// thousand entries of their largest size do not fit, but neither does a memory.
const maxAnswerBytes = 1 << 30

// Options configure a [Client]. URL and Repo are required.
type Options struct {
	// URL is the server's base, with or without a path prefix.
	URL  string
	Repo api.Repo
	// Token carries the bearer token; nil sends none.
	Token oauth2.TokenSource
	// Renew is called when the server refuses a token; where it returns nil the
	// request is sent once more, with what Token gives then. Nil: the refusal stands.
	Renew func(ctx context.Context, refused string) error
	// Actor is sent with every request; its Token part is not.
	Actor api.Actor
	// Device is the checkout's id, 32 hexadecimal digits; "" sends none.
	Device string
	// Transport is nil for one of our own, with [api.ClientTimeout] on the way to
	// an answer's first byte.
	Transport http.RoundTripper
	// UserAgent, for example "teammemd/1.0".
	UserAgent string
}

// Client talks to one server about one repo. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	repo   api.Repo
	actor  api.Actor
	device string
	agent  string
	http   *http.Client
	ours   atomic.Bool // the server speaks our additions
	stream time.Duration
	idle   func() // closes connections that nobody uses

	policy  atomic.Pointer[policy] // nil: none is known
	cleaned atomic.Pointer[string] // of [api.HeaderCleaned]; nil: nothing was

	mu     sync.Mutex
	era    context.Context         // of the requests under way; guarded by mu
	endEra context.CancelCauseFunc // guarded by mu
}

// New returns a client. It makes no request. A URL that is none wraps
// [api.ErrUsage].
func New(opts Options) (*Client, error) {
	base, err := ParseURL(opts.URL)
	if err != nil {
		return nil, err
	}
	transport := opts.Transport
	if transport == nil {
		transport = NewTransport()
	}
	idle := func() {}
	if pool, ok := transport.(interface{ CloseIdleConnections() }); ok {
		idle = pool.CloseIdleConnections
	}
	switch {
	case opts.Token != nil && opts.Renew != nil:
		transport = &renewing{source: opts.Token, renew: opts.Renew, base: transport}
	case opts.Token != nil:
		transport = &oauth2.Transport{Source: opts.Token, Base: transport}
	}
	c := &Client{
		base:  base,
		repo:  opts.Repo,
		actor: opts.Actor, device: opts.Device,
		agent: opts.UserAgent,
		http: &http.Client{
			Transport: transport,
			// A redirect could carry the token elsewhere; a server says its own
			// address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		stream: 2*api.Heartbeat + 5*time.Second,
		idle:   idle,
	}
	c.era, c.endEra = context.WithCancelCause(context.Background())
	return c, nil
}

// errGivenUp ends requests whose connection is not to be trusted any more.
var errGivenUp = fmt.Errorf("%w: the connection was given up", api.ErrOffline)

// Reconnect gives up all connections, with the requests and the stream on them,
// which end as [api.ErrOffline]; later requests make new ones. It is for a machine
// that slept: what it was connected to may have gone without a word, and a
// request on a dead connection waits until its deadline.
func (c *Client) Reconnect() {
	era, endEra := context.WithCancelCause(context.Background())
	c.mu.Lock()
	c.era, c.endEra, endEra = era, endEra, c.endEra
	c.mu.Unlock()
	endEra(errGivenUp)
	c.idle()
}

// during returns a context that ends with ctx and with the next Reconnect.
func (c *Client) during(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	c.mu.Lock()
	era := c.era
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(era, func() { cancel(errGivenUp) })
	return ctx, func(cause error) { stop(); cancel(cause) }
}

// NewTransport returns a transport with deadlines on every step but the body of
// a stream.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: api.MaxWait + 10*time.Second,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   4,
		ForceAttemptHTTP2:     true,
	}
}

// ParseURL checks a server's base URL. Credentials in it are refused: they
// would end up in lists and logs.
func ParseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	switch {
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%w: the server's address is http://host:port or https://host", api.ErrUsage)
	case u.User != nil:
		return nil, fmt.Errorf("%w: take the name and password out of the server's address; give the token by --token-file", api.ErrUsage)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%w: the server's address has a query or fragment", api.ErrUsage)
	}
	return u, nil
}

// request builds one request. path begins with a slash.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Request, error) {
	u := *c.base
	u.Path += path
	u.RawQuery = query.Encode()
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), reader)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", api.ErrUsage, "the server's address cannot be used")
	}
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	c.setActor(req.Header)
	if c.agent != "" {
		req.Header.Set("User-Agent", c.agent)
	}
	return req, nil
}

func (c *Client) setActor(h http.Header) {
	for name, value := range map[string]string{
		api.HeaderActorPerson: c.actor.Person, api.HeaderActorDevice: c.actor.Device,
		api.HeaderActorAgent: c.actor.Agent, api.HeaderActorSession: c.actor.Session,
	} {
		if value != "" {
			h.Set(name, url.PathEscape(value))
		}
	}
	if c.device != "" {
		h.Set(api.HeaderDevice, c.device)
		if cleaned := c.cleaned.Load(); cleaned != nil {
			h.Set(api.HeaderCleaned, *cleaned)
		}
	}
}

// answer is a response whose body was read and closed.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// isOurs reports whether the answer came from a server with our additions.
func (a *answer) isOurs() bool { return a.header.Get(api.HeaderProtocol) != "" }

// mediaType is the content type without its parameters.
func (a *answer) mediaType() string {
	kind, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	return kind
}

// do sends a request within [api.ClientTimeout]. Transport errors are
// [api.ErrOffline].
func (c *Client) do(req *http.Request) (*answer, error) {
	ctx, giveUp := c.during(req.Context())
	defer giveUp(nil)
	ctx, cancel := context.WithTimeout(ctx, api.ClientTimeout)
	defer cancel()
	resp, err := c.http.Do(req.WithContext(ctx))
	if err != nil {
		if errors.Is(context.Cause(ctx), errGivenUp) {
			return nil, errGivenUp
		}
		return nil, offline(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: the answer broke off", api.ErrOffline)
	}
	if len(body) > maxAnswerBytes {
		return nil, fmt.Errorf("%w: the answer is larger than %d bytes", api.ErrBadAnswer, maxAnswerBytes)
	}
	a := &answer{resp.StatusCode, resp.Header, body}
	if other := a.header.Get(api.HeaderProtocol); other != "" && other != api.Protocol {
		return nil, fmt.Errorf("%w: it speaks another protocol than this program", api.ErrBadAnswer)
	}
	if a.status == http.StatusOK || a.status == http.StatusNotModified {
		c.ours.Store(a.isOurs())
	}
	return a, nil
}

// offline describes a transport error without the URL, which may hold a repo's
// name that does not belong in logs of other people.
func offline(err error) error {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	if errors.Is(err, api.ErrSignedOut) || errors.Is(err, api.ErrConfig) {
		return err // from the token's source: the server was never asked
	}
	if _, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("%w: the sign-in could not be renewed", api.ErrSignedOut)
	}
	return fmt.Errorf("%w: %w", api.ErrOffline, err)
}

// call sends a request and decodes a 200 into out. Every other status is an
// error; a 304 is reported by status alone.
func (c *Client) call(req *http.Request, out any) (*answer, error) {
	a, err := c.do(req)
	if err != nil {
		return nil, err
	}
	if a.status == http.StatusNotModified {
		return a, nil
	}
	if a.status != http.StatusOK {
		return nil, refusal(a)
	}
	if kind := a.mediaType(); kind != "application/json" {
		return nil, fmt.Errorf("%w: it sent %s instead of JSON; a proxy or sign-in page may be in between", api.ErrBadAnswer, describe(kind))
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		return nil, fmt.Errorf("%w: its JSON is damaged or of another kind", api.ErrBadAnswer)
	}
	return a, nil
}

func describe(kind string) string {
	if kind == "" {
		return "no content type"
	}
	return kind
}

// refusal turns an answer that is no 200 into an error.
func refusal(a *answer) error {
	isJSON := a.mediaType() == "application/json"
	var wire api.ErrorBody
	if isJSON {
		_ = json.Unmarshal(a.body, &wire) // a damaged body leaves the status, which is enough
	}
	if !isJSON && a.status < 500 && a.status != http.StatusUnauthorized && a.status != http.StatusTooManyRequests {
		// Our statuses come with JSON. Without it somebody else is talking, and a
		// 404 of a proxy must not read as "no data yet".
		return fmt.Errorf("%w: it answered status %d without JSON; a proxy may be in between", api.ErrBadAnswer, a.status)
	}
	e := api.FromWire(a.status, wire)
	if errors.Is(e, api.ErrInternal) {
		e.Err = api.ErrUnavailable // whatever it is, it is not ours to mend: try again later
	}
	e.RetryAfter = retryAfter(a.header.Get("Retry-After"), time.Now())
	return e
}

// maxRetryAfter caps what a server may ask of a client.
const maxRetryAfter = time.Hour

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(value); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return max(0, min(wait, maxRetryAfter))
}
