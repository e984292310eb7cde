package access_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/access/accesstest"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/auth/forge/forgetest"
	"github.com/teammem/teammemd/server/store"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// world is an Access over a stand-in of GitHub, with Ada signed in there.
type world struct {
	t      *testing.T
	hub    *forgetest.Forge
	forge  *forge.Forge
	names  *accesstest.Names
	people *accesstest.People
	clock  *clock
	access *access.Access
	logged *bytes.Buffer
}

func newWorld(t *testing.T, policy string) *world {
	t.Helper()
	w := &world{
		t: t, hub: forgetest.New(t, "github"), names: accesstest.NewNames(t), people: accesstest.NewPeople(),
		clock: &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}, logged: &bytes.Buffer{},
	}
	w.hub.Clock(w.clock.Now)
	var err error
	w.forge, err = forge.New(forge.Options{Kind: "github", URL: w.hub.URL, Host: "github.com", Transport: &http.Transport{}, Now: w.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.signIn("ada")
	hooks, err := w.forge.Hooks(hookSecret)
	if err != nil {
		t.Fatal(err)
	}
	o := access.Options{
		People: w.people.Of, Forge: w.forge, Hooks: hooks, Names: w.names, Now: w.clock.Now, Log: slog.New(slog.NewTextHandler(w.logged, nil)),
	}
	if policy != "" {
		o.Policy = openPolicy(t, policy)
	}
	w.access = access.New(o)
	return w
}

// signIn adds a person whose id here is their login.
func (w *world) signIn(login string) {
	w.people.Add(login, access.Person{Issuer: w.hub.URL, Subject: "s-" + login, Login: login, Email: login + "@example.com"}, w.hub.Person(login))
}

// grant is a token, of a user or ("") of a service.
func grant(t *testing.T, user, repos string, role api.Role) auth.Grant {
	t.Helper()
	g, err := auth.GrantOf(store.Token{ID: "t", Name: "token", Repos: repos, Role: role, User: user})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func repoOf(t *testing.T, s string) api.Repo {
	t.Helper()
	repo, err := api.ParseRepo(s)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func (w *world) try(user, repo string) (access.Decision, error) {
	return w.access.Decide(w.t.Context(), grant(w.t, user, "", 0), repoOf(w.t, repo))
}

// decide wants a decision with this role, and the data under this name.
func (w *world) decide(user, repo string, role api.Role, home string) access.Decision {
	w.t.Helper()
	d, err := w.try(user, repo)
	if err != nil {
		w.t.Fatalf("%s in %s: %v", user, repo, err)
	}
	if d.Role != role || (role > api.NoRole && d.Repo.String() != home) {
		w.t.Fatalf("%s in %s: %v under %q, want %v under %q", user, repo, d.Role, d.Repo, role, home)
	}
	return d
}

// asked wants so many questions to have reached the forge since the last call.
func (w *world) asked(n int, since *int) {
	w.t.Helper()
	now := w.hub.Answered(0)
	if got := now - *since; got != n {
		w.t.Errorf("%d questions reached the forge, want %d", got, n)
	}
	*since = now
}

func TestCacheTimes(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	count := 0

	if d := w.decide("ada", "acme/api", api.Writer, "acme/api"); !d.Until.Equal(w.clock.Now().Add(5 * time.Minute)) {
		t.Errorf("a yes counts until %v", d.Until)
	}
	w.asked(1, &count)
	w.hub.Allow("ada", "acme/api", "pull")
	w.clock.Add(5*time.Minute - time.Second)
	w.decide("ada", "acme/api", api.Writer, "acme/api")
	w.asked(0, &count)
	w.clock.Add(time.Second)
	w.decide("ada", "acme/api", api.Reader, "acme/api")
	w.asked(1, &count)

	w.hub.Allow("ada", "acme/api", "none")
	w.clock.Add(5 * time.Minute)
	if d := w.decide("ada", "acme/api", api.NoRole, ""); !d.Until.Equal(w.clock.Now().Add(time.Minute)) {
		t.Errorf("a no counts until %v", d.Until)
	}
	w.asked(1, &count)
	w.hub.Forgot() // a 404 has no ETag
	w.hub.Allow("ada", "acme/api", "admin")
	w.clock.Add(time.Minute - time.Second)
	w.decide("ada", "acme/api", api.NoRole, "")
	w.asked(0, &count)
	w.clock.Add(time.Second)
	w.decide("ada", "acme/api", api.Maintainer, "acme/api")
	w.asked(1, &count)
}

// An answer that still holds is asked for with a condition.
func TestConditional(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	for range 4 {
		w.decide("ada", "acme/api", api.Writer, "acme/api")
		w.clock.Add(5 * time.Minute)
	}
	if got := w.hub.Answered(304); got != 3 {
		t.Errorf("%d answers of 304, want 3", got)
	}
}

func TestSingleFlight(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if d, err := w.try("ada", "acme/api"); err != nil || d.Role != api.Writer {
				t.Errorf("Decide = %+v, %v", d, err)
			}
		})
	}
	all.Wait()
	count := 0
	w.asked(1, &count)
}

// While the forge is down the last known permission counts for an hour after it
// was confirmed, never more than it was, and somebody of whom nothing is known
// hears that it cannot be found out.
func TestOutage(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/api", "private")
	w.hub.Repo("acme/other", "private")
	w.hub.Allow("ada", "acme/api", "pull")
	w.decide("ada", "acme/api", api.Reader, "acme/api")
	w.decide("ada", "acme/other", api.NoRole, "")
	confirmed := w.clock.Now()
	w.hub.Suffer(forgetest.Down)
	w.hub.Allow("ada", "acme/api", "admin") // what it would say does not count
	for w.clock.Now().Before(confirmed.Add(access.OutageLife)) {
		if d := w.decide("ada", "acme/api", api.Reader, "acme/api"); d.Until.After(confirmed.Add(access.OutageLife)) {
			t.Errorf("it counts until %v, an hour ends at %v", d.Until, confirmed.Add(access.OutageLife))
		}
		w.decide("ada", "acme/other", api.NoRole, "")
		w.clock.Add(30 * time.Second)
	}
	for _, repo := range []string{"acme/api", "acme/other", "acme/missing"} {
		d, err := w.try("ada", repo)
		if !errors.Is(err, api.ErrUnavailable) || d.Role != api.NoRole {
			t.Errorf("%s after an hour: %+v, %v", repo, d, err)
		}
		if e, ok := errors.AsType[*api.Error](err); !ok || e.RetryAfter <= 0 {
			t.Errorf("%s: the error does not say when to try again: %v", repo, err)
		}
	}
	w.hub.Suffer(forgetest.Well)
	w.hub.Forgot()
	w.clock.Add(2 * time.Minute)
	w.decide("ada", "acme/api", api.Maintainer, "acme/api")
	if log := w.logged.String(); strings.Count(log, "forge cannot be asked") != 1 || strings.Count(log, "forge answers again") != 1 {
		t.Errorf("the outage was logged as\n%s", log)
	}
	if strings.Contains(w.logged.String(), w.hub.Person("ada")) {
		t.Error("a token is in the log")
	}
}

// A rate that is used up is an outage for one person.
func TestRateLimited(t *testing.T) {
	w := newWorld(t, "")
	w.signIn("bob")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	w.hub.Allow("bob", "acme/api", "push")
	w.decide("ada", "acme/api", api.Writer, "acme/api")
	w.clock.Add(5 * time.Minute)
	w.hub.Suffer(forgetest.Limiting)
	w.hub.Limit(100 * time.Minute)
	w.decide("ada", "acme/api", api.Writer, "acme/api")
	w.hub.Suffer(forgetest.Well)
	w.decide("bob", "acme/api", api.Writer, "acme/api")
	count := w.hub.Answered(0)
	confirmed := w.clock.Now().Add(-5 * time.Minute)
	for range 54 { // the stand-in fails the test on a question before its time
		w.clock.Add(time.Minute)
		if d := w.decide("ada", "acme/api", api.Writer, "acme/api"); d.Until.After(confirmed.Add(access.OutageLife)) {
			t.Errorf("it counts until %v, an hour ends at %v", d.Until, confirmed.Add(access.OutageLife))
		}
		w.clock.Add(time.Second / 2) // out of step with the hour
	}
	w.asked(0, &count)
}

// A token that the forge does not know any more ends access at once, and the
// person hears what to do.
func TestTokenRefused(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	w.decide("ada", "acme/api", api.Writer, "acme/api")
	w.hub.Refuse(w.hub.Person("ada"))
	w.clock.Add(5 * time.Minute)
	for _, repo := range []string{"acme/api", "acme/missing"} {
		if d, err := w.try("ada", repo); !errors.Is(err, api.ErrSignedOut) || d.Role != api.NoRole {
			t.Errorf("%s: %+v, %v", repo, d, err)
		}
	}
	w.hub.Forgot()
	// An outage does not bring back what was refused.
	w.hub.Suffer(forgetest.Down)
	w.clock.Add(time.Minute)
	if d, err := w.try("ada", "acme/api"); err == nil {
		t.Errorf("refused, then down: %+v", d)
	}
	w.hub.Suffer(forgetest.Well)
	w.hub.Forgot()
	w.signIn("ada")
	w.clock.Add(time.Minute)
	w.decide("ada", "acme/api", api.Writer, "acme/api")
}

func TestRenameKeepsData(t *testing.T) {
	w := newWorld(t, "")
	w.signIn("bob")
	w.hub.Repo("acme/old", "private")
	w.hub.Allow("ada", "acme/old", "push")
	w.hub.Allow("bob", "acme/old", "pull")
	w.decide("ada", "acme/old", api.Writer, "acme/old")
	w.decide("bob", "acme/old", api.Reader, "acme/old")
	w.hub.Rename("acme/old", "new/name")
	w.hub.Forgot() // another question from here on

	// Bob is the first to use the new name; Ada's client still uses the old one,
	// and is not asked about again.
	w.decide("bob", "new/name", api.Reader, "new/name")
	w.clock.Add(3 * time.Second)
	w.decide("ada", "acme/old", api.Writer, "new/name")
	w.clock.Add(5 * time.Minute)
	w.decide("ada", "acme/old", api.Writer, "new/name")
	w.decide("ada", "new/name", api.Writer, "new/name")

	// Another repository takes the old name. Who was let into the first one is not
	// let into the second, though nothing has run out yet.
	w.hub.Repo("acme/old", "private")
	w.hub.Allow("bob", "acme/old", "admin")
	w.hub.Forgot()
	w.clock.Add(5 * time.Minute)
	w.decide("ada", "new/name", api.Writer, "new/name")
	w.decide("bob", "acme/old", api.Maintainer, "acme/old")
	w.decide("ada", "acme/old", api.NoRole, "")
	w.decide("ada", "new/name", api.Writer, "new/name")
}

// Somebody who was let into a repository whose name another has taken meanwhile
// does not get into the other's memory, not for the cache's time either.
func TestNewRepositoryUnderOldName(t *testing.T) {
	w := newWorld(t, "")
	w.signIn("bob")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	w.decide("ada", "acme/api", api.Writer, "acme/api")
	w.hub.Delete("acme/api")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("bob", "acme/api", "push")
	w.hub.Forgot()
	w.decide("bob", "acme/api", api.Writer, "acme/api")
	w.decide("ada", "acme/api", api.NoRole, "")
}

func TestNameTaken(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/old", "private")
	w.hub.Allow("ada", "acme/old", "push")
	w.decide("ada", "acme/old", api.Writer, "acme/old")
	w.names.Write(repoOf(t, "acme/new")) // by a service token, say
	w.hub.Rename("acme/old", "acme/new")
	w.hub.Forgot()
	if d, err := w.try("ada", "acme/new"); !errors.Is(err, api.ErrConflict) {
		t.Errorf("Decide = %+v, %v, want a conflict", d, err)
	}
	if !strings.Contains(w.logged.String(), "acme/new") {
		t.Error("the operator is not told")
	}
}

// A change that a webhook tells of counts at once, is not undone by an answer that
// was under way, and wakes those who wait.
func TestForget(t *testing.T) {
	for name, forget := range map[string]func(*world, string){
		"by name":     func(w *world, _ string) { w.access.ForgetRepo(repoOf(w.t, "acme/api"), "") },
		"by identity": func(w *world, id string) { w.access.ForgetRepo(repoOf(w.t, "any/thing"), id) },
		"by owner":    func(w *world, _ string) { w.access.ForgetOwner("acme") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "")
			id := w.hub.Repo("acme/api", "private")
			w.hub.Repo("acme-evil/api", "private")
			w.hub.Allow("ada", "acme/api", "push")
			w.hub.Allow("ada", "acme-evil/api", "push")
			w.decide("ada", "acme/api", api.Writer, "acme/api")
			w.decide("ada", "acme-evil/api", api.Writer, "acme-evil/api")
			w.hub.Allow("ada", "acme/api", "none")
			w.hub.Forgot()
			changed := w.access.Changed()
			forget(w, w.forge.Identity(id))
			select {
			case <-changed:
			default:
				t.Error("who waits was not woken")
			}
			w.decide("ada", "acme/api", api.NoRole, "")
			count := w.hub.Answered(0)
			w.decide("ada", "acme-evil/api", api.Writer, "acme-evil/api")
			w.asked(0, &count)
		})
	}
}

// slowForge answers each question when it is let go, with what was so when it was
// asked.
type slowForge struct {
	mu    sync.Mutex
	n     int
	roles []api.Role      // of the answers, in the order of the questions
	let   []chan struct{} // one for each question
	asked chan struct{}
}

func (f *slowForge) Knows(string, api.Repo) bool { return true }

func (f *slowForge) Permission(_ context.Context, _ string, repo api.Repo, _ forge.Answer) (forge.Answer, error) {
	f.mu.Lock()
	i := f.n
	f.n++
	f.mu.Unlock()
	if i >= len(f.roles) {
		return forge.Answer{}, errors.New("one question too many")
	}
	f.asked <- struct{}{}
	<-f.let[i]
	return forge.Answer{Role: f.roles[i], Identity: "github.com#1", Name: repo}, nil
}

// An answer that was under way when a webhook came may be older than the change:
// it is neither remembered nor shared with those who ask later.
func TestForgetWhileAsking(t *testing.T) {
	f := &slowForge{
		roles: []api.Role{api.Writer, api.Reader}, let: []chan struct{}{make(chan struct{}), make(chan struct{})}, asked: make(chan struct{}, 2),
	}
	people := accesstest.NewPeople()
	people.Add("ada", access.Person{Issuer: "https://github.com"}, "upstream-token")
	a := access.New(access.Options{People: people.Of, Forge: f, Names: accesstest.NewNames(t)})
	repo, g := repoOf(t, "acme/api"), grant(t, "ada", "", 0)
	ask := func() chan api.Role {
		answer := make(chan api.Role, 1)
		go func() {
			d, err := a.Decide(context.Background(), g, repo)
			if err != nil {
				t.Error(err)
			}
			answer <- d.Role
		}()
		return answer
	}
	before := ask()
	<-f.asked
	a.ForgetRepo(repo, "")
	after := ask()
	<-f.asked // another question, though the first is under way
	close(f.let[1])
	if got := <-after; got != api.Reader {
		t.Errorf("who asked after the change got %v", got)
	}
	close(f.let[0])
	<-before
	if got := <-ask(); got != api.Reader {
		t.Errorf("what was under way is remembered: %v", got)
	}
}

// Another server on the same database may rename: a name is believed for seconds.
func TestRenamedByAnotherServer(t *testing.T) {
	w := newWorld(t, "")
	id := w.hub.Repo("acme/old", "private")
	w.hub.Allow("ada", "acme/old", "push")
	for range 2 { // the second one remembers whose the name is
		w.decide("ada", "acme/old", api.Writer, "acme/old")
	}
	if _, err := w.names.Bind(t.Context(), repoOf(t, "acme/new"), w.forge.Identity(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.names.Bind(t.Context(), repoOf(t, "acme/old"), w.forge.Identity(id+1)); err != nil {
		t.Fatal(err)
	}
	w.hub.Rename("acme/old", "acme/new")
	w.hub.Repo("acme/old", "private") // and Ada may not see this one
	w.hub.Forgot()
	w.clock.Add(2 * time.Second)
	w.decide("ada", "acme/old", api.NoRole, "")
	w.decide("ada", "acme/new", api.Writer, "acme/new")
}

// lateNames lets something happen between the reading of a name and its return.
type lateNames struct {
	*accesstest.Names
	meanwhile func()
}

func (n *lateNames) Resolve(ctx context.Context, name api.Repo) (api.Repo, error) {
	home, err := n.Names.Resolve(ctx, name)
	if do := n.meanwhile; do != nil {
		n.meanwhile = nil
		do()
	}
	return home, err
}

// What was read of a name before it was given to another place is not remembered.
func TestRenamedWhileReading(t *testing.T) {
	names := &lateNames{Names: accesstest.NewNames(t)}
	people := accesstest.NewPeople()
	people.Add("ada", access.Person{Issuer: "https://github.com"}, "upstream-token")
	f := &renamingForge{name: repoOf(t, "acme/old")}
	a := access.New(access.Options{People: people.Of, Forge: f, Names: names})
	service, person := grant(t, "", "*", api.Reader), grant(t, "ada", "", 0)
	ask := func(g auth.Grant, name string) api.Repo {
		d, err := a.Decide(t.Context(), g, repoOf(t, name))
		if err != nil {
			t.Fatal(err)
		}
		return d.Repo
	}
	ask(person, "acme/old")
	f.name = repoOf(t, "acme/new")
	names.meanwhile = func() { ask(person, "acme/new") }
	a.ForgetRepo(repoOf(t, "nothing/else"), "")
	ask(service, "acme/unrelated")
	names.meanwhile = func() { ask(person, "acme/newer") }
	f.name = repoOf(t, "acme/newer")
	ask(service, "acme/new")
	if got := ask(service, "acme/new"); got != repoOf(t, "acme/newer") {
		t.Errorf("the data is looked for at %v", got)
	}
}

// renamingForge calls its one repository by its name of the moment.
type renamingForge struct{ name api.Repo }

func (f *renamingForge) Knows(string, api.Repo) bool { return true }

func (f *renamingForge) Permission(context.Context, string, api.Repo, forge.Answer) (forge.Answer, error) {
	return forge.Answer{Role: api.Reader, Identity: "github.com#1", Name: f.name}, nil
}

func TestBounds(t *testing.T) {
	w := newWorld(t, "")
	w.signIn("bob")
	w.hub.Repo("acme/old", "private")
	w.hub.Allow("ada", "acme/old", "admin")
	w.decide("ada", "acme/old", api.Maintainer, "acme/old")
	w.hub.Rename("acme/old", "other/new")
	w.hub.Forgot()
	w.decide("ada", "other/new", api.Maintainer, "other/new")
	w.clock.Add(3 * time.Second)
	tests := []struct {
		user, repos string
		role        api.Role
		ask         string
		want        api.Role
	}{
		{"ada", "", 0, "other/new", api.Maintainer},
		{"ada", "", api.Reader, "other/new", api.Reader},
		{"ada", "other/*", 0, "other/new", api.Maintainer},
		{"ada", "acme/*", 0, "other/new", api.NoRole},
		{"ada", "acme/*", 0, "acme/old", api.NoRole}, // its data has left acme
		{"ada", "acme/old", 0, "acme/old", api.Maintainer},
		{"ada", "acme/old", api.Writer, "other/new", api.Writer},
		{"ada", "acme/else", 0, "other/new", api.NoRole},
		{"bob", "", 0, "other/new", api.NoRole},
		{"", "*", api.Admin, "other/new", api.Admin},
		{"", "*", api.Reader, "acme/old", api.Reader},
		{"", "acme/*", api.Writer, "acme/old", api.NoRole},
		{"", "acme/*", api.Writer, "acme/unknown", api.Writer},
		{"", "acme/old", api.Writer, "acme/old", api.Writer},
		{"", "acme/old", api.Writer, "other/new", api.Writer},
		{"", "acme/old", api.Writer, "other/else", api.NoRole},
	}
	for _, tt := range tests {
		what := fmt.Sprintf("a token of %q for %q as %v in %s", tt.user, tt.repos, tt.role, tt.ask)
		d, err := w.access.Decide(t.Context(), grant(t, tt.user, tt.repos, tt.role), repoOf(t, tt.ask))
		if err != nil || d.Role != tt.want {
			t.Errorf("%s: %v, %v, want %v", what, d.Role, err, tt.want)
		}
		if d.Role > api.NoRole && tt.ask != "acme/unknown" && d.Repo.String() != "other/new" {
			t.Errorf("%s: data at %v", what, d.Repo)
		}
	}
}

// What names and people cannot tell now is unavailable, never a role.
func TestStoreFails(t *testing.T) {
	w := newWorld(t, "")
	w.hub.Repo("acme/api", "private")
	w.hub.Allow("ada", "acme/api", "push")
	w.names.Break(errors.New("disk on fire"))
	for _, user := range []string{"ada", ""} {
		g := grant(t, user, "*", api.Admin)
		if d, err := w.access.Decide(t.Context(), g, repoOf(t, "acme/api")); !errors.Is(err, api.ErrUnavailable) || d.Role != api.NoRole {
			t.Errorf("names fail, user %q: %+v, %v", user, d, err)
		}
	}
	w.names.Break(nil)
	w.people.Break(errors.New("disk on fire"))
	if d, err := w.try("ada", "acme/else"); !errors.Is(err, api.ErrUnavailable) || d.Role != api.NoRole {
		t.Errorf("people fail: %+v, %v", d, err)
	}
	w.people.Break(nil)
	if d, err := w.try("nobody", "acme/api"); !errors.Is(err, api.ErrSignedOut) || d.Role != api.NoRole {
		t.Errorf("no such user: %+v, %v", d, err)
	}
}

// A request costs no look at the database while names are fresh.
func TestNamesAreRemembered(t *testing.T) {
	w := newWorld(t, "")
	g := grant(t, "", "*", api.Reader)
	for range 100 {
		if _, err := w.access.Decide(t.Context(), g, repoOf(t, "acme/api")); err != nil {
			t.Fatal(err)
		}
	}
	if reads, _ := w.names.Calls(); reads != 2 {
		t.Errorf("%d reads, want 2", reads)
	}
}

// Who asks for many names pushes out nobody else's.
func TestManyNames(t *testing.T) {
	people := accesstest.NewPeople()
	people.Add("ada", access.Person{Issuer: "https://github.com"}, "upstream-a")
	people.Add("eve", access.Person{Issuer: "https://github.com"}, "upstream-e")
	f := &countingForge{}
	a := access.New(access.Options{People: people.Of, Forge: f})
	ada, eve := grant(t, "ada", "", 0), grant(t, "eve", "", 0)
	ask := func(g auth.Grant, repo string) {
		if _, err := a.Decide(t.Context(), g, repoOf(t, repo)); err != nil {
			t.Fatal(err)
		}
	}
	ask(ada, "acme/api")
	for i := range 5000 {
		ask(eve, fmt.Sprintf("acme/n%d", i))
	}
	asked := f.n
	ask(ada, "acme/api")
	ask(eve, "acme/n4999")
	if f.n != asked {
		t.Errorf("%d questions more", f.n-asked)
	}
	if ask(eve, "acme/n0"); f.n != asked+1 {
		t.Error("what one user asks is remembered without a bound")
	}
}

type countingForge struct{ n int }

func (f *countingForge) Knows(string, api.Repo) bool { return true }

func (f *countingForge) Permission(_ context.Context, _ string, repo api.Repo, _ forge.Answer) (forge.Answer, error) {
	f.n++
	return forge.Answer{Role: api.Reader, Identity: "github.com#1", Name: repo}, nil
}

var hookSecret = strings.Repeat("hook", 5)

// renamed sends a signed message of the forge about a rename within acme.
func (w *world) renamed(id int64, from, to string) {
	w.t.Helper()
	body := fmt.Sprintf(`{"action":"renamed","repository":{"id":%d,"full_name":"acme/%s"},"changes":{"repository":{"name":{"from":%q}}}}`, id, to, from)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write([]byte(body))
	h := http.Header{}
	h.Set("X-GitHub-Event", "repository")
	h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	if err := w.access.Webhook(w.t.Context(), "github", h, []byte(body)); err != nil {
		w.t.Fatal(err)
	}
}

// A message about a rename moves the data of that repository from the name that
// it has, and no other: messages come late, twice, and out of order.
func TestRenamedByWebhook(t *testing.T) {
	w := newWorld(t, "")
	id := w.hub.Repo("acme/one", "private")
	w.hub.Allow("ada", "acme/one", "push")
	w.decide("ada", "acme/one", api.Writer, "acme/one")
	at := func(want string) {
		t.Helper()
		if _, has := w.names.Data()[repoOf(t, want)]; !has || len(w.names.Data()) != 1 {
			t.Fatalf("the data is at %v, want %s", w.names.Data(), want)
		}
	}
	w.renamed(id+1, "one", "else")
	at("acme/one")
	w.renamed(id, "other", "else")
	at("acme/one")
	w.renamed(id, "one", "two")
	at("acme/two")
	w.renamed(id, "two", "three")
	at("acme/three")
	w.renamed(id, "one", "two") // again
	at("acme/three")
	w.hub.Rename("acme/one", "acme/three")
	w.hub.Forgot()
	w.decide("ada", "acme/one", api.Writer, "acme/three")
}
