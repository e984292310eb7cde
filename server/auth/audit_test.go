package auth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

// TestTokensAreAudited: who was given a token can be told later, and no secret
// is told with it.
func TestTokensAreAudited(t *testing.T) {
	backend := sqlitetest.Serve(t, t.TempDir())
	a := auth.New(backend, auth.Options{Audit: func(ctx context.Context, e store.Event) error { return backend.Audit(ctx, api.Repo{}, e) }})
	made, secret, err := a.Create(t.Context(), "ci", "acme/*", api.Reader, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		t.Fatal(err)
	}
	code, err := a.NewJoinCode(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	joined, err := a.Redeem(t.Context(), code.Code, "laptop")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Redeem(t.Context(), code.Code, "laptop"); err == nil {
		t.Error("a code works twice")
	}
	if err := a.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	rows, err := backend.Trail(t.Context(), api.Repo{}, 0, 0)
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, want := range []struct{ action, detail string }{
		{store.ActionTokenCreate, `"repos":"acme/*"`}, {store.ActionJoin, `"repos":"acme/api"`}, {store.ActionTokenRevoke, made.ID},
	} {
		if rows[i].Action != want.action || !strings.Contains(rows[i].Detail, want.detail) {
			t.Errorf("row %d: %s %s", i, rows[i].Action, rows[i].Detail)
		}
		if strings.Contains(rows[i].Detail, secret) || strings.Contains(rows[i].Detail, joined.Secret) {
			t.Errorf("row %d has a secret", i)
		}
	}
	if rows[1].Actor.Device != "laptop" {
		t.Errorf("joined by %+v", rows[1].Actor)
	}
}
