package server_test

import (
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/auth"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

func TestExpiredToken(t *testing.T) {
	w := newWorld(t, options{})
	_, secret, err := w.auth.Create(t.Context(), "brief", "*", api.Reader, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	late := auth.New(w.backend, auth.Options{Now: func() time.Time { return time.Now().Add(2 * time.Hour) }})
	if _, err := late.Authenticate(t.Context(), secret); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("two hours later: %v", err)
	}
	wantStatus(t, "in time", w.do(request{path: api.PathWhoAmI, token: secret}), 200, "")
}

// A token revoked through the data directory, as `server token revoke` does
// beside a running server, is refused within a second.
func TestRevokedByAnotherProcess(t *testing.T) {
	w := newWorld(t, options{})
	admin := auth.New(sqlitetest.Beside(t, w.dir), auth.Options{})
	token, secret, err := admin.Create(t.Context(), "ci", "*", api.Writer, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, "a token made beside the server", w.do(request{path: api.PathWhoAmI, token: secret}), 200, "")
	if err := admin.Revoke(t.Context(), token.ID); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for sent := revoked; w.do(request{path: api.PathWhoAmI, token: secret}).status != 401; sent = time.Now() {
		if sent.Sub(revoked) > time.Second {
			t.Fatal("what was sent more than a second later was still accepted")
		}
	}
}
