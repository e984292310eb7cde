package server_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server"
	"github.com/teammem/teammemd/server/auth/access"
	"github.com/teammem/teammemd/server/auth/forge"
	"github.com/teammem/teammemd/server/auth/forge/forgetest"
	"github.com/teammem/teammemd/server/auth/oauth"
	"github.com/teammem/teammemd/server/store"
)

// movingClock tells the time, and can be told to be ahead.
type movingClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *movingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *movingClock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// town is a world with people who signed in with a stand-in of GitHub.
type town struct {
	*world
	looks  *looked
	hub    *forgetest.Forge
	forge  *forge.Forge
	names  store.Backend
	access *access.Access
	clock  *movingClock
}

// looked is a store that counts how often it was asked for its generation.
type looked struct {
	store.Backend
	begun atomic.Int64
}

// Generation implements [store.Credentials].
func (l *looked) Generation(ctx context.Context) (uint64, error) {
	l.begun.Add(1)
	return l.Backend.Generation(ctx)
}

var hookSecret = "hook-" + "secret-" + "of-tests"

func newTown(tb testing.TB, policy string, o options) *town {
	tb.Helper()
	c := &town{hub: forgetest.New(tb, "github"), clock: &movingClock{}}
	c.hub.Clock(c.clock.Now)
	var err error
	c.forge, err = forge.New(forge.Options{Kind: "github", URL: c.hub.URL, Host: "github.com", Transport: &http.Transport{}, Now: c.clock.Now})
	if err != nil {
		tb.Fatal(err)
	}
	hooks, err := c.forge.Hooks(hookSecret)
	if err != nil {
		tb.Fatal(err)
	}
	ao := access.Options{People: c.who, Forge: c.forge, Hooks: hooks, Now: c.clock.Now}
	if policy != "" {
		path := filepath.Join(tb.TempDir(), "policy.toml")
		if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
			tb.Fatal(err)
		}
		if ao.Policy, err = access.OpenPolicy(path); err != nil {
			tb.Fatal(err)
		}
	}
	wrap := o.store
	o.store = func(b store.Backend) store.Backend {
		c.names = b
		c.looks = &looked{Backend: b}
		b = c.looks
		if wrap != nil {
			b = wrap(b)
		}
		return b
	}
	more := o.server
	o.server = func(so *server.Options) {
		ao.Names = c.names
		c.access = access.New(ao)
		so.Access = c.access
		signIn, err := oauth.New(oauth.Options{
			Accounts: c.names, Auth: so.Auth, Local: true, CleanText: so.Core.CleanText,
			Address: server.AddressOf(nil), Log: so.Log,
		})
		if err != nil {
			tb.Fatal(err)
		}
		so.SignIn = signIn
		so.SignIns = oauth.SignIns{Accounts: c.names.(store.Accounts), Forget: so.Auth.Forget, Audit: func(ctx context.Context, e store.Event) error {
			return c.backend.Audit(ctx, api.Repo{}, e)
		}}
		if more != nil {
			more(so)
		}
	}
	c.world = newWorld(tb, o)
	return c
}

// who is the [access.People] of the server's accounts.
func (c *town) who(ctx context.Context, id string) (access.Person, error) {
	u, err := c.backend.User(ctx, id)
	if err != nil {
		return access.Person{}, err
	}
	return access.Person{
		Issuer: u.Issuer, Subject: u.Subject, Login: u.Login, Email: u.Email, Groups: u.Groups,
		Token: func(context.Context) (string, error) { return string(u.Upstream), nil },
	}, nil
}

// signIn returns the token of somebody who signed in at the forge.
func (c *town) signIn(login string) string {
	c.t.Helper()
	accounts := c.backend
	now := time.Now().UTC().Truncate(time.Millisecond)
	u, err := accounts.SaveUser(context.Background(), store.User{
		ID: "user-" + login, Issuer: c.hub.URL, Subject: login, Login: login, Email: login + "@example.com",
		Upstream: []byte(c.hub.Person(login)), CreatedAt: now, SeenAt: now,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random)
	secret := "tm_" + base64.RawURLEncoding.EncodeToString(random)
	id := "family-" + secret[3:11]
	err = accounts.AddFamily(context.Background(), store.Issue{
		Family:  store.Family{ID: id, User: u.ID, Client: "test", Generation: 1, CreatedAt: now, RotatedAt: now, ExpiresAt: now.Add(time.Hour)},
		Refresh: sha256.Sum256([]byte("refresh" + secret)),
		Access: store.Token{
			ID: "t" + secret[3:13], Name: login, Hash: sha256.Sum256([]byte(secret)), User: u.ID, Family: id, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return secret
}

// repo makes a repository at the forge with people's levels, and writes one entry
// into its memory.
func (c *town) repo(path string, levels map[string]string) (id int64) {
	c.t.Helper()
	id = c.hub.Repo(path, "private")
	for login, level := range levels {
		c.hub.Allow(login, path, level)
	}
	c.put(c.token("*", api.Admin), path, entries{"k": "1"})
	return id
}
