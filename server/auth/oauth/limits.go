package oauth

import (
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// maxBuckets bounds what is counted at a time. Beyond it those that are not
// short of anything are forgotten.
const maxBuckets = 10_000

// limit counts what one address, or one person, asks for.
type limit struct {
	every time.Duration
	burst int

	mu     sync.Mutex
	byName map[string]*rate.Limiter // guarded by mu
}

func newLimit(every time.Duration, burst int) *limit {
	return &limit{every: every, burst: burst, byName: map[string]*rate.Limiter{}}
}

// take takes one at a time, or returns how long to wait.
func (l *limit) take(name string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	bucket, ok := l.byName[name]
	if !ok {
		l.sweep(now)
		bucket = rate.NewLimiter(rate.Every(l.every), l.burst)
		l.byName[name] = bucket
	}
	if bucket.AllowN(now, 1) {
		return 0
	}
	missing := 1 - bucket.TokensAt(now)
	return max(time.Second, time.Duration(missing*float64(l.every)))
}

func (l *limit) sweep(now time.Time) {
	if len(l.byName) < maxBuckets {
		return
	}
	for name, bucket := range l.byName {
		if bucket.TokensAt(now) >= float64(l.burst) {
			delete(l.byName, name)
		}
	}
	if len(l.byName) >= maxBuckets {
		clear(l.byName)
	}
}

// limits are those of the whole server.
type limits struct {
	begin *limit // begins of sign-ins, for each address
	token *limit // asking for tokens, for each address: an office polls from one
	typed *limit // typed codes, for each person
	guess *limit // typed codes and join codes, for each address
}

func newLimits() limits {
	return limits{
		begin: newLimit(3*time.Second, 40),
		token: newLimit(20*time.Millisecond, 1000),
		typed: newLimit(time.Minute, 10),
		guess: newLimit(3*time.Second, 20),
	}
}

// spend counts a request, or returns the refusal that says when to come again.
func (s *Server) spend(l *limit, name string) error {
	wait := l.take(name, s.o.Now())
	if wait == 0 {
		return nil
	}
	return &Error{Code: "temporarily_unavailable", Description: "slow down; Retry-After says when to try again", status: http.StatusTooManyRequests, retry: wait}
}

// remoteAddress is the default of [Options.Address].
func remoteAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "unknown"
	}
	return host
}
