package access

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/store"
)

const (
	// YesLife is how long a permission of the forge is believed.
	YesLife = 5 * time.Minute
	// NoLife is how long it is believed that there is none.
	NoLife = time.Minute
	// OutageLife is how long a permission counts after it was last confirmed when
	// the forge cannot be asked.
	OutageLife = time.Hour
	// retryLife is how long a decision that was made without the forge counts.
	retryLife = time.Minute
	// signInLife is how long it is believed that somebody has to sign in again.
	signInLife = 10 * time.Second
	// lookupTime bounds one question to the forge with all that belongs to it.
	lookupTime = 3 * forge.Timeout
	// flights bounds the questions under way.
	flights = 64
)

// Person is somebody who has signed in.
type Person struct {
	Issuer, Subject string // who vouches for them, and their stable id there
	Login, Email    string // Email is verified, or ""
	Groups          []string
	// Token returns the issuer's token of theirs, fresh enough to be used. nil for
	// none. An error that wraps [api.ErrSignedOut] says that they have to sign in
	// again; any other that it cannot be had now.
	Token func(ctx context.Context) (string, error)
}

// People returns who the user with this id is. [store.ErrNoUser] says that there
// is no such user.
type People func(ctx context.Context, user string) (Person, error)

// Forge is asked what somebody may do in a repository; [forge.Forge] is one.
type Forge interface {
	// Knows reports whether it can be asked about people of issuer and repo.
	Knows(issuer string, repo api.Repo) bool
	// Permission is as [forge.Forge.Permission] says.
	Permission(ctx context.Context, token string, repo api.Repo, known forge.Answer) (forge.Answer, error)
}

// Options configure [New]. The zero value knows service tokens alone.
type Options struct {
	People People
	// Forge may be nil.
	Forge Forge
	// Names ties repos to repositories of the forge; nil for none.
	Names store.Names
	// Policy may be nil.
	Policy *PolicyFile
	// Hooks reads what the forge sends by itself; nil where it sends nothing.
	Hooks *forge.Hooks
	// Log gets a line where the forge begins and ceases to answer, and for what an
	// operator has to mend. Default: discarded.
	Log *slog.Logger
	// Now is the clock. Default: [time.Now].
	Now func() time.Time
}

// Decision is what one grant may do in one repo.
type Decision struct {
	// Role is [api.NoRole] where the repo is to look like one that does not exist.
	Role api.Role
	// Repo is the name under which the data is kept.
	Repo api.Repo
	// Until is when to ask again; zero for as long as the token lives.
	Until time.Time
}

// Access decides. Its methods may be called from any goroutine.
type Access struct {
	o     Options
	names *names
	known *cache
	once  singleflight.Group // one lookup for each user and repo at a time
	slots chan struct{}      // one for each question under way

	mu      sync.Mutex // guards what follows
	changed chan struct{}
	outage  bool // as last logged
}

// New returns an Access. It starts nothing: call [Access.Run].
func New(o Options) *Access {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Access{
		o: o, names: newNames(o.Names, o.Now), known: newCache(),
		slots: make(chan struct{}, flights), changed: make(chan struct{}),
	}
}

// Run looks after the policy file until ctx ends, and then returns nil.
func (a *Access) Run(ctx context.Context) error {
	if a.o.Policy == nil {
		<-ctx.Done()
		return nil
	}
	return a.o.Policy.watch(ctx, a.o.Log, a.broadcast)
}

// Changed returns a channel that is closed when permissions may have changed
// before their time. Get it before you ask, so that no change falls between.
func (a *Access) Changed() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

func (a *Access) broadcast() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.changed)
	a.changed = make(chan struct{})
}

// Decide returns what the bearer of g may do in repo. The error wraps
// [api.ErrSignedOut] where a person has to sign in upstream again, and
// [api.ErrUnavailable] where it cannot be found out now; neither depends on
// whether the repo exists here.
func (a *Access) Decide(ctx context.Context, g auth.Grant, repo api.Repo) (Decision, error) {
	if g.User == "" {
		return a.service(ctx, g, repo)
	}
	// What the token does not reach is not asked about.
	home, bound, err := a.bound(ctx, g, repo, api.Repo{})
	if err != nil || bound == api.NoRole {
		return Decision{Repo: home, Until: a.o.Now().Add(NoLife)}, err
	}
	// What join codes gave them holds whatever an issuer says.
	role, err := a.invited(ctx, g, home)
	if err != nil {
		return Decision{}, err
	}
	own := Decision{Repo: home, Role: min(role, bound), Until: a.o.Now().Add(NoLife)}
	if a.o.People == nil {
		return own, nil
	}
	d, err := a.person(ctx, g, repo)
	if own.Role > d.Role {
		return own, nil
	}
	return d, err
}

// invited returns what memberships give a person in the data at home. A
// membership follows its repo through renames.
func (a *Access) invited(ctx context.Context, g auth.Grant, home api.Repo) (best api.Role, err error) {
	for _, m := range g.Account().Member {
		its, _, err := a.names.at(ctx, m.Repo)
		if err != nil {
			return api.NoRole, err
		}
		if its == home {
			best = max(best, m.Role)
		}
	}
	return best, nil
}

// person decides by what a policy gives a person, and what the forge says.
func (a *Access) person(ctx context.Context, g auth.Grant, repo api.Repo) (Decision, error) {
	e, err := a.entry(ctx, g.User, repo)
	if err != nil {
		return Decision{}, err
	}
	d, err := a.weigh(ctx, e, repo)
	if err != nil || d.Role == api.NoRole {
		return d, err
	}
	_, bound, err := a.bound(ctx, g, repo, d.Repo)
	d.Role = min(d.Role, bound)
	return d, err
}

// service decides for a service token.
func (a *Access) service(ctx context.Context, g auth.Grant, repo api.Repo) (Decision, error) {
	home, role, err := a.bound(ctx, g, repo, api.Repo{})
	d := Decision{Role: role, Repo: home}
	if a.o.Names != nil {
		d.Until = a.o.Now().Add(YesLife) // another server may rename
	}
	return d, err
}

// bound returns the most that a token allows in repo, whose data is at home (the
// zero Repo: to be looked up). A token for one repo opens it under every name that
// the repo has had; one with stars must reach the present name as well as the one
// that was asked for.
func (a *Access) bound(ctx context.Context, g auth.Grant, repo, home api.Repo) (api.Repo, api.Role, error) {
	only, exact := g.Only()
	role := g.Bound(repo)
	if role == api.NoRole && !exact {
		return repo, api.NoRole, nil
	}
	if home.IsZero() {
		var err error
		if home, _, err = a.names.at(ctx, repo); err != nil {
			return repo, api.NoRole, err
		}
	}
	switch {
	case home == repo && role > api.NoRole, repo == only: // the usual case, at no cost
		return home, role, nil
	case !exact:
		return home, min(role, g.Bound(home)), nil
	}
	its, _, err := a.names.at(ctx, only)
	if err != nil || its != home {
		return home, api.NoRole, err
	}
	return home, g.Bound(only), nil
}

// weigh turns what is known of a person and a repo into a decision.
func (a *Access) weigh(ctx context.Context, e *entry, repo api.Repo) (Decision, error) {
	home := e.home
	if home.IsZero() {
		var err error
		if home, _, err = a.names.at(ctx, repo); err != nil {
			return Decision{}, err
		}
	}
	role := e.said.Role
	if a.o.Policy != nil {
		role = max(role, a.o.Policy.role(e.person, home))
	}
	if role == api.NoRole && e.failed != nil {
		return Decision{}, e.failed
	}
	return Decision{Role: role, Repo: home, Until: e.until}, nil
}

// entry returns what is known of a user in a repo, and finds it out where that is
// too old.
func (a *Access) entry(ctx context.Context, user string, repo api.Repo) (*entry, error) {
	key := question{user, repo}
	drops := a.known.dropped() // who asks after a change must not share an older answer
	e, err := a.current(ctx, key)
	if e != nil || err != nil {
		return e, err
	}
	found := a.once.DoChan(fmt.Sprintf("%s %s %d", user, repo, drops), func() (any, error) {
		// Others may wait for this: it does not end with the request that began it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
		defer cancel()
		if e, err := a.current(ctx, key); e != nil || err != nil {
			return e, err
		}
		return a.lookup(ctx, key)
	})
	select {
	case res := <-found:
		if res.Err != nil {
			return nil, res.Err
		}
		return res.Val.(*entry), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: %w", api.ErrUnavailable, ctx.Err())
	}
}

// current returns what is remembered, nil where it has to be found out. Data that
// has got another owner since is not what was decided about.
func (a *Access) current(ctx context.Context, key question) (*entry, error) {
	e := a.known.get(key)
	if e == nil || !a.o.Now().Before(e.until) || a.o.Now().Before(e.asked) {
		return nil, nil
	}
	if e.home.IsZero() || a.o.Names == nil {
		return e, nil
	}
	home, identity, err := a.names.at(ctx, e.home)
	switch {
	case err != nil:
		return nil, err
	case identity != e.said.Identity:
		return nil, nil
	case home != e.home: // renamed meanwhile
		moved := *e
		moved.home = home
		return &moved, nil
	}
	return e, nil
}

// errUnavailable keeps the cause for the log and the sentinel for the answer.
func errUnavailable(doing string, err error) error {
	return fmt.Errorf("%w: %s: %w", api.ErrUnavailable, doing, err)
}

// signedOut is for a person whose issuer does not vouch for them any more.
func signedOut() error {
	return api.Errorf(api.ErrSignedOut, "the sign-in at the forge has ended; sign in again")
}

// isSignedOut reports whether err says that the person has to sign in again.
func isSignedOut(err error) bool {
	return errors.Is(err, forge.ErrToken) || errors.Is(err, api.ErrSignedOut)
}
