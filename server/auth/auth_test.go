package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// clock is a clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestCreateAndAuthenticate(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	a := auth.New(sqlitetest.Serve(t, dir), auth.Options{})
	token, secret, err := a.Create(ctx, " ci ", "ACME/*", api.Writer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(secret, "tm_") || len(secret) != 46 {
		t.Errorf("the secret is not tm_ and 43 characters: length %d", len(secret))
	}
	grant, err := a.Authenticate(ctx, secret)
	if err != nil {
		t.Fatal(err)
	}
	if got := grant.Role(repo(t, "acme/api")); got != api.Writer {
		t.Errorf("role in acme/api = %v, want writer", got)
	}
	if got := grant.Role(repo(t, "other/api")); got != api.NoRole {
		t.Errorf("role in other/api = %v, want none", got)
	}
	want := api.WhoAmI{Name: "ci", Repos: "acme/*", Role: api.Writer}
	if diff := cmp.Diff(want, grant.WhoAmI()); diff != "" {
		t.Errorf("who am I (-want +got):\n%s", diff)
	}
	list, err := a.List(ctx)
	if err != nil || len(list) != 1 || list[0].ID != token.ID {
		t.Errorf("list = %v, %v", list, err)
	}
	holdsNo(t, dir, secret)
}

// holdsNo fails when a file under dir holds the text.
func holdsNo(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), text) {
			t.Errorf("%s holds the secret", d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCreateRefuses(t *testing.T) {
	a := auth.New(sqlitetest.Serve(t, t.TempDir()), auth.Options{})
	past := time.Now().Add(-time.Minute)
	for _, tt := range []struct {
		name, repos string
		role        api.Role
		expires     time.Time
	}{
		{"", "acme/*", api.Reader, time.Time{}},
		{"two\nlines", "acme/*", api.Reader, time.Time{}},
		{strings.Repeat("n", 201), "acme/*", api.Reader, time.Time{}},
		{"ci", "acme", api.Reader, time.Time{}},
		{"ci", "acme/*", api.NoRole, time.Time{}},
		{"ci", "acme/*", api.Admin + 1, time.Time{}},
		{"ci", "acme/*", api.Reader, past},
	} {
		if _, _, err := a.Create(t.Context(), tt.name, tt.repos, tt.role, tt.expires); !errors.Is(err, api.ErrUsage) {
			t.Errorf("Create(%q, %q, %v, %v) = %v, want a usage error", tt.name, tt.repos, tt.role, tt.expires, err)
		}
	}
	if list, err := a.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("refused tokens were stored: %v, %v", list, err)
	}
}

func TestAuthenticateRefuses(t *testing.T) {
	ctx := t.Context()
	clk := newClock()
	a := auth.New(sqlitetest.Serve(t, t.TempDir()), auth.Options{Now: clk.Now})
	_, brief, err := a.Create(ctx, "brief", "*", api.Reader, clk.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	gone, revoked, err := a.Create(ctx, "revoked", "*", api.Reader, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{brief, revoked} {
		if _, err := a.Authenticate(ctx, secret); err != nil {
			t.Fatalf("a live token is refused: %v", err)
		}
	}
	if err := a.Revoke(ctx, gone.ID); err != nil {
		t.Fatal(err)
	}
	if err := a.Revoke(ctx, gone.ID); err != nil {
		t.Errorf("revoking twice: %v", err)
	}
	if err := a.Revoke(ctx, "nobody"); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("revoking an unknown token = %v, want not found", err)
	}
	clk.Advance(time.Hour) // the cached grant must end with it
	var words []string
	for _, secret := range []string{brief, revoked, "", "tm_", brief[:45], brief + "x", "xx_" + brief[3:], strings.Repeat("x", 46), "tm_" + strings.Repeat("A", 43)} {
		_, err := a.Authenticate(ctx, secret)
		if !errors.Is(err, api.ErrSignedOut) {
			t.Fatalf("Authenticate = %v, want signed out", err)
		}
		words = append(words, err.Error())
	}
	for _, w := range words {
		if w != words[0] {
			t.Errorf("refusals can be told apart: %q and %q", w, words[0])
		}
	}
}

// A revocation through another Auth, as another process makes it, is seen once
// the cache is older than it may be, without Run.
func TestRevokedElsewhere(t *testing.T) {
	ctx := t.Context()
	clk := newClock()
	backend := sqlitetest.Serve(t, t.TempDir())
	here, there := auth.New(backend, auth.Options{Now: clk.Now}), auth.New(backend, auth.Options{Now: clk.Now})
	token, secret, err := there.Create(ctx, "ci", "*", api.Reader, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := here.Authenticate(ctx, secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := there.Revoke(ctx, token.ID); err != nil {
		t.Fatal(err)
	}
	clk.Advance(time.Second)
	if _, err := here.Authenticate(ctx, secret); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("a second after its revocation: %v, want signed out", err)
	}
	if _, err := here.Refresh(ctx, grant); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("refreshing its grant: %v, want signed out", err)
	}
}

// TestRunBroadcasts: whoever waits is told within a second that another process
// revoked a token, however the look at the store falls.
func TestRunBroadcasts(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond, 200 * time.Millisecond, 399 * time.Millisecond, 400 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			dir := t.TempDir()
			a := auth.New(sqlitetest.Serve(t, dir), auth.Options{})
			other := auth.New(sqlitetest.Beside(t, dir), auth.Options{})
			token, secret, err := a.Create(ctx, "ci", "*", api.Reader, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() { done <- a.Run(ctx) }()
			<-time.After(time.Second + late)
			if _, err := a.Authenticate(ctx, secret); err != nil {
				t.Fatal(err)
			}
			changed, revoked := a.Changed(), time.Now()
			if err := other.Revoke(ctx, token.ID); err != nil {
				t.Fatal(err)
			}
			<-changed
			if took := time.Since(revoked); took > time.Second {
				t.Errorf("revoked %v after a look: broadcast after %v", late, took)
			}
			if _, err := a.Authenticate(ctx, secret); !errors.Is(err, api.ErrSignedOut) {
				t.Errorf("after the broadcast: %v, want signed out", err)
			}
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run = %v, want nil", err)
			}
		})
	}
}

// broken fails every call, as a store whose disk is gone.
type broken struct{ store.Credentials }

var errDisk = errors.New("disk is gone")

func (broken) Generation(context.Context) (uint64, error) { return 0, errDisk }

func TestStoreThatCannotBeRead(t *testing.T) {
	a := auth.New(broken{}, auth.Options{})
	_, err := a.Authenticate(t.Context(), "tm_"+strings.Repeat("A", 43))
	if !errors.Is(err, api.ErrUnavailable) || errors.Is(err, api.ErrSignedOut) {
		t.Errorf("Authenticate = %v, want unavailable", err)
	}
	if err := a.Healthy(t.Context()); !errors.Is(err, errDisk) {
		t.Errorf("Healthy = %v, want the cause", err)
	}
}

func TestPolicy(t *testing.T) {
	strict, err := auth.NewPolicy()
	if err != nil {
		t.Fatal(err)
	}
	some, err := auth.NewPolicy("acme/*", "other/docs")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"acme/api": true, "other/docs": true, "other/api": false} {
		if got := some.WritersMayRetire(repo(t, name)); got != want {
			t.Errorf("writers may retire in %s = %v, want %v", name, got, want)
		}
		if strict.WritersMayRetire(repo(t, name)) {
			t.Errorf("by default writers may retire in %s", name)
		}
	}
	if _, err := auth.NewPolicy("acme"); !errors.Is(err, api.ErrUsage) {
		t.Errorf("a policy with a bad pattern = %v, want a usage error", err)
	}
}

// overtaken lets a revocation happen between the reading of a token and its
// return, once.
type overtaken struct {
	store.Credentials
	revoke func()
}

func (o *overtaken) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	t, err := o.Credentials.TokenByHash(ctx, hash)
	if o.revoke != nil {
		revoke := o.revoke
		o.revoke = nil
		revoke()
	}
	return t, err
}

// A token that was read before its revocation must not be remembered after it.
func TestRevokedWhileReading(t *testing.T) {
	ctx := t.Context()
	clk := newClock()
	creds := &overtaken{Credentials: sqlitetest.Serve(t, t.TempDir())}
	a := auth.New(creds, auth.Options{Now: clk.Now})
	token, secret, err := a.Create(ctx, "ci", "*", api.Reader, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	creds.revoke = func() {
		if err := a.Revoke(ctx, token.ID); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Authenticate(ctx, secret); err != nil {
		t.Fatalf("a request that overlaps the revocation: %v", err)
	}
	if _, err := a.Authenticate(ctx, secret); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("a request after the revocation: %v, want signed out", err)
	}
}

// flapping is a store that cannot be read while it is told so.
type flapping struct {
	store.Credentials
	out  chan bool
	down bool
}

func (f *flapping) Generation(ctx context.Context) (uint64, error) {
	select {
	case f.down = <-f.out:
	default:
	}
	if f.down {
		return 0, errDisk
	}
	return f.Credentials.Generation(ctx)
}

// Run says once that the store is gone, and once that it is back.
func TestRunLogsChangesOfReach(t *testing.T) {
	var log lines
	f := &flapping{Credentials: sqlitetest.Serve(t, t.TempDir()), out: make(chan bool)}
	a := auth.New(f, auth.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- a.Run(ctx) }()
	f.out <- true
	f.out <- true // a second look has failed as well
	f.out <- false
	f.out <- false
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v, want nil", err)
	}
	if out, back := log.count("credentials cannot be read"), log.count("credentials can be read again"); out != 1 || back != 1 {
		t.Errorf("logged %d times that it is gone and %d times that it is back, want once each", out, back)
	}
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}
