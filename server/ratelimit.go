package server

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/teammem/teammemd/api"
)

// maxBuckets bounds how many tokens or addresses are counted at a time. Beyond
// it those that are not short of anything are forgotten.
const maxBuckets = 10_000

// buckets holds one rate limiter for each name.
type buckets struct {
	limit rate.Limit
	burst int

	mu     sync.Mutex
	byName map[string]*rate.Limiter
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	return &buckets{limit: limit, burst: burst, byName: map[string]*rate.Limiter{}}
}

func (b *buckets) of(name string) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	l, ok := b.byName[name]
	if !ok {
		b.sweep()
		l = rate.NewLimiter(b.limit, b.burst)
		b.byName[name] = l
	}
	return l
}

// sweep forgets full buckets, and all of them when that does not help: a moment
// of generosity is better than memory without bound.
func (b *buckets) sweep() {
	if len(b.byName) < maxBuckets {
		return
	}
	for name, l := range b.byName {
		if l.Tokens() >= float64(b.burst) {
			delete(b.byName, name)
		}
	}
	if len(b.byName) >= maxBuckets {
		clear(b.byName)
	}
}

// take takes n, or returns the refusal that says when to come again.
func (b *buckets) take(name string, n int, what string) error {
	l := b.of(name)
	if l.AllowN(time.Now(), n) {
		return nil
	}
	missing := float64(n) - l.Tokens()
	e := api.Errorf(api.ErrRateLimited, "%s; Retry-After says when to try again", what)
	e.RetryAfter = max(time.Second, time.Duration(missing/float64(b.limit)*float64(time.Second)))
	return e
}

// tokenLimits bounds what one token may ask for and keep open.
type tokenLimits struct {
	requests   *buckets
	uploads    *buckets // of bytes
	maxStreams int

	streamsMu sync.Mutex
	streams   map[string]int
}

func newTokenLimits(o Options) *tokenLimits {
	return &tokenLimits{
		requests: newBuckets(rate.Limit(o.Rate), o.Burst), uploads: newBuckets(rate.Limit(o.UploadRate), o.UploadBurst),
		maxStreams: o.MaxStreams, streams: map[string]int{},
	}
}

func (t *tokenLimits) allow(id string) error { return t.requests.take(id, 1, "slow down") }

// upload counts a body of this many bytes.
func (t *tokenLimits) upload(id string, bytes int) error {
	return t.uploads.take(id, bytes, "this token has sent too many bytes")
}

// hold counts one open stream until release is called.
func (t *tokenLimits) hold(id string) (release func(), err error) {
	t.streamsMu.Lock()
	defer t.streamsMu.Unlock()
	if t.streams[id] >= t.maxStreams {
		e := api.Errorf(api.ErrRateLimited, "this token holds too many streams open")
		e.RetryAfter = api.PollInterval
		return nil, e
	}
	t.streams[id]++
	return func() {
		t.streamsMu.Lock()
		defer t.streamsMu.Unlock()
		if t.streams[id]--; t.streams[id] <= 0 {
			delete(t.streams, id)
		}
	}, nil
}

// Joining is for people who type codes: 20 tries at once, then one in 3 s.
const (
	joinBurst = 20
	joinEvery = 3 * time.Second
)

// addressLimits bounds tries without a token, for each remote address.
type addressLimits struct {
	*buckets
	proxies []netip.Prefix
}

func newAddressLimits(proxies []netip.Prefix) *addressLimits {
	return &addressLimits{buckets: newBuckets(rate.Every(joinEvery), joinBurst), proxies: proxies}
}

func (a *addressLimits) allow(r *http.Request) error { return a.take(a.client(r), 1, "slow down") }

// spent refuses where no try is left, and takes none.
func (a *addressLimits) spent(r *http.Request) error {
	if a.of(a.client(r)).Tokens() >= 1 {
		return nil
	}
	e := api.Errorf(api.ErrRateLimited, "slow down; Retry-After says when to try again")
	e.RetryAfter = joinEvery
	return e
}

// client returns the address that a request comes from: the last one that no
// trusted proxy vouches for. One IPv6 site, a /64, counts as one address.
func (a *addressLimits) client(r *http.Request) string {
	addr := clientAddress(r, a.proxies)
	if !addr.IsValid() {
		return "unknown"
	}
	if addr.Is6() {
		if site, err := addr.Prefix(64); err == nil {
			return site.String()
		}
	}
	return addr.String()
}

// clientAddress returns the address that a request comes from, the last one that
// no trusted proxy vouches for; its zero value where there is none.
func clientAddress(r *http.Request, proxies []netip.Prefix) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && within(proxies, addr); i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		addr = hop
	}
	return addr.Unmap().WithZone("")
}

func within(proxies []netip.Prefix, addr netip.Addr) bool {
	for _, p := range proxies {
		if p.Contains(addr.Unmap()) {
			return true
		}
	}
	return false
}
