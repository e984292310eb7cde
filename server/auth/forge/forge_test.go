package forge_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/auth/forge/forgetest"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

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

// world is one forge's stand-in and a Forge that asks it.
type world struct {
	*forgetest.Forge
	t     *testing.T
	f     *forge.Forge
	clock *clock
}

func newWorld(t *testing.T, kind string, change ...func(*forge.Options)) *world {
	t.Helper()
	w := &world{Forge: forgetest.New(t, kind), t: t, clock: newClock()}
	w.Clock(w.clock.Now)
	o := forge.Options{Kind: kind, URL: w.URL, Transport: &http.Transport{}, Now: w.clock.Now}
	for _, c := range change {
		c(&o)
	}
	f, err := forge.New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.f = f
	return w
}

func (w *world) repo(path string) api.Repo {
	w.t.Helper()
	repo, err := w.f.Repo(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return repo
}

// ask wants an answer.
func (w *world) ask(token, path string, known forge.Answer) forge.Answer {
	w.t.Helper()
	a, err := w.f.Permission(w.t.Context(), token, w.repo(path), known)
	if err != nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	return a
}

// refused wants an UnreachableError and returns its time, from now.
func (w *world) refused(token, path string, known forge.Answer) time.Duration {
	w.t.Helper()
	_, err := w.f.Permission(w.t.Context(), token, w.repo(path), known)
	e, ok := errors.AsType[*forge.UnreachableError](err)
	if !ok {
		w.t.Fatalf("%s: %v, want an UnreachableError", path, err)
	}
	if strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "http") {
		w.t.Errorf("the error tells too much: %v", err)
	}
	return e.Until.Sub(w.clock.Now())
}

func TestRoles(t *testing.T) {
	tests := []struct {
		kind, visibility, level string
		want                    api.Role
	}{
		{"github", "private", "none", api.NoRole},
		{"github", "private", "pull", api.Reader},
		{"github", "private", "triage", api.Reader},
		{"github", "private", "push", api.Writer},
		{"github", "private", "maintain", api.Maintainer},
		{"github", "private", "admin", api.Maintainer},
		{"github", "internal", "pull", api.Reader},
		{"github", "public", "none", api.NoRole}, // everyone may pull it
		{"github", "public", "pull", api.NoRole},
		{"github", "public", "triage", api.Reader},
		{"github", "public", "push", api.Writer},
		{"gitea", "private", "none", api.NoRole},
		{"gitea", "private", "pull", api.Reader},
		{"gitea", "private", "push", api.Writer},
		{"gitea", "private", "admin", api.Maintainer},
		{"gitea", "internal", "none", api.Reader},
		{"gitea", "public", "none", api.NoRole},
		{"gitlab", "private", "none", api.NoRole},
		{"gitlab", "private", "10", api.Reader},
		{"gitlab", "private", "15", api.Reader},
		{"gitlab", "private", "20", api.Reader},
		{"gitlab", "private", "25", api.Reader},
		{"gitlab", "private", "30", api.Writer},
		{"gitlab", "private", "40", api.Maintainer},
		{"gitlab", "private", "50", api.Maintainer},
		{"gitlab", "private", "5", api.Reader}, // shared with a group: no level is named, but it is shown
		{"gitlab", "internal", "none", api.NoRole},
		{"gitlab", "internal", "5", api.NoRole},
		{"gitlab", "public", "none", api.NoRole},
		{"gitlab", "public", "30", api.Writer},
	}
	for _, tt := range tests {
		t.Run(strings.Join([]string{tt.kind, tt.visibility, tt.level}, " "), func(t *testing.T) {
			w := newWorld(t, tt.kind)
			token := w.Person("ada")
			id := w.Repo("Acme/API", tt.visibility)
			w.Allow("ada", "acme/api", tt.level)
			got := w.ask(token, "acme/api", forge.Answer{})
			if got.Role != tt.want {
				t.Errorf("role %v, want %v", got.Role, tt.want)
			}
			if got.Role > api.NoRole && (got.Identity != w.f.Identity(id) || got.Name != w.repo("acme/api")) {
				t.Errorf("it is %q %v", got.Identity, got.Name)
			}
			w.Archive("acme/api")
			if got := w.ask(token, "acme/api", got); got.Role != min(tt.want, api.Reader) {
				t.Errorf("archived: role %v", got.Role)
			}
		})
	}
}

func TestPublicReaders(t *testing.T) {
	for _, kind := range []string{"github", "gitea", "gitlab"} {
		w := newWorld(t, kind, func(o *forge.Options) { o.PublicReaders = true })
		token := w.Person("ada")
		w.Repo("acme/open", "public")
		if got := w.ask(token, "acme/open", forge.Answer{}); got.Role != api.Reader {
			t.Errorf("%s: role %v, want a reader's", kind, got.Role)
		}
	}
}

// The second question has a condition, and is answered with 304 until something
// changes.
func TestConditional(t *testing.T) {
	for _, kind := range []string{"github", "gitea", "gitlab"} {
		w := newWorld(t, kind)
		level := map[string][2]string{"github": {"pull", "push"}, "gitea": {"pull", "push"}, "gitlab": {"20", "30"}}[kind]
		token := w.Person("ada")
		w.Repo("acme/api", "private")
		w.Allow("ada", "acme/api", level[0])
		first := w.ask(token, "acme/api", forge.Answer{})
		again := w.ask(token, "acme/api", first)
		if diff := cmp.Diff(first, again, cmp.Comparer(func(a, b api.Repo) bool { return a == b })); diff != "" || w.Answered(304) != 1 {
			t.Errorf("%s: %d answers of 304, changed: %s", kind, w.Answered(304), diff)
		}
		w.Allow("ada", "acme/api", level[1])
		if got := w.ask(token, "acme/api", again); got.Role != api.Writer {
			t.Errorf("%s: after a change %v", kind, got.Role)
		}
		w.Allow("ada", "acme/api", "none")
		w.Forgot() // a 404 has no ETag to remember
		if got := w.ask(token, "acme/api", again); got != (forge.Answer{}) {
			t.Errorf("%s: after a loss %+v", kind, got)
		}
	}
}

func TestRename(t *testing.T) {
	for _, kind := range []string{"github", "gitea", "gitlab"} {
		w := newWorld(t, kind)
		level := map[string]string{"github": "push", "gitea": "push", "gitlab": "30"}[kind]
		token := w.Person("ada")
		id := w.Repo("acme/old", "private")
		w.Allow("ada", "acme/old", level)
		first := w.ask(token, "acme/old", forge.Answer{})
		w.Rename("acme/old", "other/new")
		w.Forgot() // the old question has another answer now
		got := w.ask(token, "acme/old", first)
		want := forge.Answer{Role: api.Writer, Identity: w.f.Identity(id), Name: w.repo("other/new"), ETag: got.ETag}
		if got != want {
			t.Errorf("%s: %+v, want %+v", kind, got, want)
		}
		if again := w.ask(token, "acme/old", got); again != got {
			t.Errorf("%s: again %+v", kind, again)
		}
		// A new repository under the old name is another.
		w.Repo("acme/old", "private")
		w.Allow("ada", "acme/old", level)
		if got := w.ask(token, "acme/old", got); got.Identity == want.Identity || got.Name != w.repo("acme/old") {
			t.Errorf("%s: the new one is %+v", kind, got)
		}
	}
}

func TestOutage(t *testing.T) {
	for _, spell := range []forgetest.Spell{forgetest.Down, forgetest.Rude, forgetest.Garbage, forgetest.Huge, forgetest.Leading, forgetest.Circling} {
		w := newWorld(t, "github")
		token := w.Person("ada")
		w.Repo("acme/api", "private")
		w.Allow("ada", "acme/api", "push")
		known := w.ask(token, "acme/api", forge.Answer{})
		w.Suffer(spell)
		if wait := w.refused(token, "acme/api", known); wait <= 0 || wait > time.Minute {
			t.Errorf("spell %d: try again in %v", spell, wait)
		}
		w.Suffer(forgetest.Well)
		w.clock.Add(time.Second)
		if got := w.ask(token, "acme/api", known); got != known {
			t.Errorf("spell %d: afterwards %+v", spell, got)
		}
	}
}

// A forge that is down is left alone, for longer and longer; what is odd about
// one repository closes it to nobody.
func TestRest(t *testing.T) {
	w := newWorld(t, "github")
	ada, bob := w.Person("ada"), w.Person("bob")
	w.Repo("acme/api", "private")
	w.Suffer(forgetest.Down)
	for range 3 {
		w.refused(ada, "acme/api", forge.Answer{})
	}
	asked := w.Answered(0)
	if wait := w.refused(bob, "acme/api", forge.Answer{}); wait != time.Second || w.Answered(0) != asked {
		t.Errorf("after three failures: wait %v, %d more questions", wait, w.Answered(0)-asked)
	}
	for want := 2 * time.Second; want < time.Minute; want *= 2 {
		w.clock.Add(time.Minute)
		if wait := w.refused(ada, "acme/api", forge.Answer{}); wait != min(want, 30*time.Second) {
			t.Errorf("wait %v, want %v", wait, want)
		}
	}
	w.clock.Add(time.Minute)
	w.Suffer(forgetest.Garbage)
	for range 10 {
		w.refused(ada, "acme/api", forge.Answer{})
	}
	if asked = w.Answered(200); asked != 10 {
		t.Errorf("%d questions were asked, want 10", asked)
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		spell forgetest.Spell
		limit time.Duration
		min   time.Duration
		all   bool // whether others have to wait as well
	}{
		{forgetest.Slowing, 90 * time.Second, 90 * time.Second, false},
		{forgetest.Limiting, 30 * time.Minute, 30*time.Minute - time.Second, false},
		{forgetest.Busy, 0, 7 * time.Second, true},
	}
	for _, tt := range tests {
		w := newWorld(t, "github")
		ada, bob := w.Person("ada"), w.Person("bob")
		w.Repo("acme/api", "private")
		w.Allow("ada", "acme/api", "push")
		w.Allow("bob", "acme/api", "push")
		w.Limit(tt.limit)
		w.Suffer(tt.spell)
		w.refused(ada, "acme/api", forge.Answer{})
		asked := w.Answered(0)
		w.clock.Add(tt.min - 2*time.Second)
		if w.refused(ada, "acme/api", forge.Answer{}); w.Answered(0) != asked {
			t.Errorf("spell %d: asked before its time", tt.spell)
		}
		w.Suffer(forgetest.Well)
		if tt.all {
			w.refused(bob, "acme/api", forge.Answer{})
		} else {
			w.ask(bob, "acme/api", forge.Answer{})
		}
		w.clock.Add(3 * time.Second)
		if got := w.ask(ada, "acme/api", forge.Answer{}); got.Role != api.Writer {
			t.Errorf("spell %d: afterwards %v", tt.spell, got.Role)
		}
	}
}

func TestTokenRefused(t *testing.T) {
	w := newWorld(t, "github")
	token := w.Person("ada")
	w.Repo("acme/api", "private")
	w.Refuse(token)
	if _, err := w.f.Permission(t.Context(), token, w.repo("acme/api"), forge.Answer{}); !errors.Is(err, forge.ErrToken) || strings.Contains(err.Error(), token) {
		t.Errorf("Permission = %v, want ErrToken", err)
	}
}

func TestKnows(t *testing.T) {
	make := func(o forge.Options) *forge.Forge {
		f, err := forge.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	hub := make(forge.Options{Kind: "github"})
	own := make(forge.Options{Kind: "gitea", URL: "https://git.example.com/"})
	lab := make(forge.Options{Kind: "gitlab", URL: "https://lab.example.com"})
	tests := []struct {
		f            *forge.Forge
		issuer, repo string
		want         bool
	}{
		{hub, "https://github.com", "acme/api", true},
		{hub, "https://github.com/", "acme/api", true},
		{hub, "https://github.com.evil.example", "acme/api", false},
		{hub, "https://idp.example.com", "acme/api", false},
		{hub, "https://github.com", "git.example.com/acme/api", false},
		{hub, "local", "acme/api", false},
		{own, "https://git.example.com", "git.example.com/acme/api", true},
		{own, "https://git.example.com/", "git.example.com/acme/api", true},
		{own, "https://git.example.com", "git.example.com.evil/acme/api", false},
		{own, "https://git.example.com", "git.example.com/group/acme/api", false},
		{own, "https://git.example.com", "acme/api", false},
		{lab, "https://lab.example.com", "lab.example.com/group/acme/api", true},
	}
	for _, tt := range tests {
		repo, err := api.ParseRepo(tt.repo)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.f.Knows(tt.issuer, repo); got != tt.want {
			t.Errorf("Knows(%q, %q) = %v", tt.issuer, tt.repo, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, o := range []forge.Options{
		{},
		{Kind: "svn"},
		{Kind: "gitea"},
		{Kind: "gitea", URL: "git.example.com"},
		{Kind: "gitea", URL: "http://git.example.com"},
		{Kind: "gitea", URL: "https://u:p@git.example.com"},
		{Kind: "gitea", URL: "https://git.example.com?x"},
		{Kind: "github", URL: "ftp://x.example"},
		{Kind: "github", Host: "a b"},
	} {
		if _, err := forge.New(o); !errors.Is(err, api.ErrConfig) {
			t.Errorf("New(%+v) = %v, want a configuration error", o, err)
		}
	}
}

// A forge that does not answer costs five seconds, not the request.
func TestSilence(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "github")
	token := w.Person("ada")
	w.Repo("acme/api", "private")
	w.Suffer(forgetest.Silent)
	began := time.Now()
	w.refused(token, "acme/api", forge.Answer{})
	if took := time.Since(began); took < forge.Timeout || took > 2*forge.Timeout {
		t.Errorf("it took %v", took)
	}
}

// The time at which a rate begins anew is by the forge's clock, which may be
// another than ours.
func TestForgesClock(t *testing.T) {
	for _, off := range []time.Duration{-3 * time.Hour, 10 * time.Minute, 3 * time.Hour} {
		w := newWorld(t, "github")
		w.Clock(func() time.Time { return w.clock.Now().Add(off) })
		ada := w.Person("ada")
		w.Repo("acme/api", "private")
		w.Limit(20 * time.Minute)
		w.Suffer(forgetest.Limiting)
		if wait := w.refused(ada, "acme/api", forge.Answer{}); wait < 19*time.Minute || wait > 21*time.Minute {
			t.Errorf("its clock is %v off: wait %v, want 20 minutes", off, wait)
		}
	}
}
