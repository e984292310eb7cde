package auth_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// readOnly counts what is recorded, and fails to record it at first.
type readOnly struct {
	auth.Accounts
	failures, uses int
}

func (r *readOnly) UseToken(ctx context.Context, id string, at time.Time) error {
	if r.uses++; r.uses <= r.failures {
		return errDisk
	}
	return r.Accounts.UseToken(ctx, id, at)
}

// person stores a user with a membership, and a token of theirs.
func person(t *testing.T, accounts store.Accounts, clk *clock, edit func(*store.Token)) (secret string) {
	t.Helper()
	u := store.User{ID: "ada", Issuer: store.IssuerLocal, Subject: "1", Login: "Ada", CreatedAt: clk.Now()}
	if _, err := accounts.SaveUser(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	member := []store.Membership{{Repo: repo(t, "acme/api"), Role: api.Writer}}
	err := accounts.ChangeUser(t.Context(), "ada", func(u store.User) (store.User, error) { u.Member = member; return u, nil })
	if err != nil {
		t.Fatal(err)
	}
	secret, hash := auth.NewSecret(auth.AccessPrefix)
	token := store.Token{ID: auth.NewID(), Name: "laptop", Hash: hash, CreatedAt: clk.Now(), ExpiresAt: clk.Now().Add(time.Hour)}
	edit(&token)
	f := store.Family{ID: auth.NewID(), User: "ada", Client: "cli", Generation: 1, CreatedAt: clk.Now(), RotatedAt: clk.Now(), ExpiresAt: clk.Now().Add(time.Hour)}
	if err := accounts.AddFamily(t.Context(), store.Issue{Family: f, Access: token}); err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestPerson(t *testing.T) {
	for name, tt := range map[string]struct {
		edit  func(*store.Token)
		own   api.Role // in the repo of the membership
		bound api.Role // in another
	}{
		"open":            {func(*store.Token) {}, api.Writer, api.Admin},
		"bounded in role": {func(t *store.Token) { t.Role = api.Reader }, api.Reader, api.Reader},
		"bounded to repo": {func(t *store.Token) { t.Repos = "acme/api" }, api.Writer, api.NoRole},
		"bounded away":    {func(t *store.Token) { t.Repos = "other/*" }, api.NoRole, api.NoRole},
	} {
		clk := newClock()
		accounts := sqlitetest.Serve(t, t.TempDir())
		a := auth.New(accounts, auth.Options{Now: clk.Now, Accounts: accounts})
		g, err := a.Authenticate(t.Context(), person(t, accounts, clk, tt.edit))
		if err != nil || g.User != "ada" || g.Account().Login != "Ada" || g.IsAdmin() {
			t.Fatalf("%s: %+v, %v", name, g, err)
		}
		if own, bound := g.Role(repo(t, "acme/api")), g.Bound(repo(t, "acme/web")); own != tt.own || bound != tt.bound || g.Role(repo(t, "acme/web")) != api.NoRole {
			t.Errorf("%s: %v and %v, want %v and %v", name, own, bound, tt.own, tt.bound)
		}
		if me := g.WhoAmI(); me.User != "ada" || me.Login != "Ada" || me.Issuer != store.IssuerLocal || me.Role != api.NoRole {
			t.Errorf("%s: who am I = %+v", name, me)
		}
	}
}

// TestMembershipEnds: what is taken from a user is gone within a second, cached
// or not.
func TestMembershipEnds(t *testing.T) {
	clk := newClock()
	accounts := sqlitetest.Serve(t, t.TempDir())
	a := auth.New(accounts, auth.Options{Now: clk.Now, Accounts: accounts})
	secret := person(t, accounts, clk, func(*store.Token) {})
	if g, err := a.Authenticate(t.Context(), secret); err != nil || g.Role(repo(t, "acme/api")) != api.Writer {
		t.Fatalf("%+v, %v", g, err)
	}
	if err := accounts.ChangeUser(t.Context(), "ada", func(u store.User) (store.User, error) { u.Member = nil; return u, nil }); err != nil {
		t.Fatal(err)
	}
	clk.Advance(time.Second)
	if g, err := a.Authenticate(t.Context(), secret); err != nil || g.Role(repo(t, "acme/api")) != api.NoRole {
		t.Errorf("a second later: %v, %v", g.Role(repo(t, "acme/api")), err)
	}
	if err := accounts.DropUser(t.Context(), "ada", clk.Now()); err != nil {
		t.Fatal(err)
	}
	clk.Advance(time.Second)
	if _, err := a.Authenticate(t.Context(), secret); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("a dropped user: %v", err)
	}
}

// TestUseIsRecordedOnce: one write a token, and none that fails keeps anybody out.
func TestUseIsRecordedOnce(t *testing.T) {
	clk := newClock()
	accounts := sqlitetest.Serve(t, t.TempDir())
	counting := &readOnly{Accounts: accounts, failures: 2}
	a := auth.New(accounts, auth.Options{Now: clk.Now, Accounts: counting})
	secret := person(t, accounts, clk, func(*store.Token) {})
	for range 10 {
		if _, err := a.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if counting.uses != 3 {
		t.Errorf("%d tries to record, want two that fail and one that does not", counting.uses)
	}
	a.Forget()
	if _, err := a.Authenticate(t.Context(), secret); err != nil || counting.uses != 3 {
		t.Errorf("%d tries after the cache was emptied, %v", counting.uses, err)
	}
	if stored, err := a.Look(t.Context(), secret); err != nil || !stored.Used.Equal(clk.Now()) {
		t.Errorf("used at %v, %v", stored.Used, err)
	}
}
