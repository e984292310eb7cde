package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const (
	// pollEvery is the interval at which [Auth.Run] looks for changes that
	// another process made. Each look wakes an idle process.
	pollEvery = 400 * time.Millisecond
	// maxStale is how old the last look may be for a cached token to count. It
	// and one poll stay below the second within which a revocation must act.
	maxStale = 550 * time.Millisecond
	// maxCached bounds the cache, in tokens.
	maxCached = 10_000
)

// Options configure [New]. The zero value works.
type Options struct {
	// Log gets one line for each state change of the store's reachability and
	// for each token made or revoked here. Default: discarded.
	Log *slog.Logger
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
	// Audit records tokens that are made, joined with and revoked. Default: only the
	// log.
	Audit func(ctx context.Context, e store.Event) error
	// Accounts keeps the people behind the tokens of sign-ins. Without it nothing
	// is known of them but their id.
	Accounts Accounts
}

// Accounts is the part of [store.Accounts] that authentication needs.
type Accounts interface {
	User(ctx context.Context, id string) (store.User, error)
	UseToken(ctx context.Context, id string, at time.Time) error
}

// Auth authenticates bearer secrets against a store. Its methods may be called
// from any goroutine.
type Auth struct {
	creds    store.Credentials
	accounts Accounts // may be nil
	audit    func(ctx context.Context, e store.Event) error
	log      *slog.Logger
	now      func() time.Time

	looking sync.Mutex // one reader of the generation at a time; never taken under mu

	mu         sync.RWMutex // guards what follows
	tokens     map[[32]byte]Grant
	generation uint64
	looked     time.Time     // of the last successful look at the generation
	changed    chan struct{} // closed and replaced at every change
	drops      uint64        // counts how often tokens was emptied

	hits, misses atomic.Uint64 // look-ups of tokens, see [Auth.Lookups]
}

// New returns an Auth over creds. It starts nothing: call [Auth.Run].
func New(creds store.Credentials, o Options) *Auth {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Audit == nil {
		o.Audit = func(context.Context, store.Event) error { return nil }
	}
	return &Auth{
		creds: creds, audit: o.Audit, accounts: o.Accounts, log: o.Log, now: o.Now,
		tokens:  map[[32]byte]Grant{},
		changed: make(chan struct{}),
	}
}

// Run watches for changes that other processes make until ctx ends, and then
// returns nil. While Run does not run, or cannot reach the store, every
// authentication looks for itself: slower, never staler.
func (a *Auth) Run(ctx context.Context) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	failing := false
	for {
		err := a.look(ctx)
		if ctx.Err() != nil {
			return nil // a clean stop; a failed look is part of it
		}
		if failed := err != nil; failed != failing {
			failing = failed
			a.logReach(ctx, err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *Auth) logReach(ctx context.Context, err error) {
	if err != nil {
		a.log.WarnContext(ctx, "credentials cannot be read", "error", err)
		return
	}
	a.log.InfoContext(ctx, "credentials can be read again")
}

// look reads the generation and, when it differs, forgets what was cached and
// tells everyone who waits on [Auth.Changed].
func (a *Auth) look(ctx context.Context) error {
	a.looking.Lock()
	defer a.looking.Unlock()
	return a.lookLocked(ctx)
}

// freshen looks unless someone else just did.
func (a *Auth) freshen(ctx context.Context) error {
	a.looking.Lock()
	defer a.looking.Unlock()
	if a.fresh(a.now()) {
		return nil
	}
	return a.lookLocked(ctx)
}

func (a *Auth) lookLocked(ctx context.Context) error {
	began := a.now()
	generation, err := a.creds.Generation(ctx)
	if err != nil {
		return fmt.Errorf("reading the generation of credentials: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.looked = began
	if generation != a.generation {
		a.generation = generation
		a.drop()
	}
	return nil
}

// Forget empties the cache, so that a revocation made through the store by this
// process acts at once.
func (a *Auth) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop()
}

// drop empties the cache and wakes the waiters; a.mu is held.
func (a *Auth) drop() {
	clear(a.tokens)
	a.drops++
	close(a.changed)
	a.changed = make(chan struct{})
}

// Changed returns a channel that is closed at the next change of tokens. Get it
// before you check, so that no change falls between.
func (a *Auth) Changed() <-chan struct{} {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.changed
}

// Healthy reports whether the credentials were readable a moment ago, and looks
// when it does not know.
func (a *Auth) Healthy(ctx context.Context) error {
	return a.freshen(ctx)
}

// Lookups counts the look-ups of tokens since the start: those answered from
// memory, and those that asked the store.
func (a *Auth) Lookups() (hits, misses uint64) { return a.hits.Load(), a.misses.Load() }

func (a *Auth) fresh(now time.Time) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return isFresh(a.looked, now)
}

// isFresh compares in both directions: a clock that was set back must not keep
// a cache alive.
func isFresh(looked, now time.Time) bool {
	age := now.Sub(looked)
	return age < maxStale && age > -maxStale
}

// Authenticate returns what the bearer of secret may do. The error wraps
// [api.ErrSignedOut] for a secret that is unknown, expired or revoked, all three
// in the same words, and [api.ErrUnavailable] when that cannot be found out.
func (a *Auth) Authenticate(ctx context.Context, secret string) (Grant, error) {
	if !looksLikeSecret(secret) {
		return Grant{}, signedOut()
	}
	return a.grantOf(ctx, HashSecret(secret))
}

// Refresh returns the grant as it is now, for callers that hold on to one:
// event streams and long polls. Errors as in [Auth.Authenticate].
func (a *Auth) Refresh(ctx context.Context, g Grant) (Grant, error) {
	return a.grantOf(ctx, g.hash)
}

func (a *Auth) grantOf(ctx context.Context, hash [32]byte) (Grant, error) {
	now := a.now()
	a.mu.RLock()
	g, found := a.tokens[hash]
	fresh := isFresh(a.looked, now)
	a.mu.RUnlock()
	if !fresh {
		if err := a.freshen(ctx); err != nil {
			return Grant{}, unavailable(err)
		}
		a.mu.RLock()
		g, found = a.tokens[hash]
		a.mu.RUnlock()
	}
	if found {
		a.hits.Add(1)
	} else {
		a.misses.Add(1)
		var err error
		if g, err = a.load(ctx, hash); err != nil {
			return Grant{}, err
		}
	}
	if g.expired(now) {
		return Grant{}, signedOut()
	}
	return g, nil
}

// load reads one token and remembers it. Unknown secrets are not remembered:
// they would push out the known ones.
func (a *Auth) load(ctx context.Context, hash [32]byte) (Grant, error) {
	a.mu.RLock()
	drops := a.drops
	a.mu.RUnlock()
	t, err := a.creds.TokenByHash(ctx, hash)
	switch {
	case errors.Is(err, store.ErrNoCredential):
		return Grant{}, signedOut()
	case err != nil:
		return Grant{}, unavailable(err)
	case !t.RevokedAt.IsZero():
		return Grant{}, signedOut()
	}
	g, err := a.grantFor(ctx, t)
	if err != nil {
		return Grant{}, err
	}
	noted := a.noteUse(ctx, t)
	a.mu.Lock()
	defer a.mu.Unlock()
	// What was read before a drop may be older than the change behind it. A use
	// that could not be noted is tried again at the next request.
	if a.drops == drops && noted {
		if len(a.tokens) >= maxCached {
			clear(a.tokens)
		}
		a.tokens[hash] = g
	}
	return g, nil
}

func signedOut() error {
	return api.Errorf(api.ErrSignedOut, "the token is missing, unknown, expired or revoked")
}

// unavailable keeps the cause for the log and the sentinel for the answer.
func unavailable(err error) error {
	return fmt.Errorf("%w: %w", api.ErrUnavailable, err)
}
