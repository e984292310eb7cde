package remote_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/remote"
)

// ageing is a source whose token a renewal replaces, and the server that takes
// some of them.
type ageing struct {
	mu       sync.Mutex
	now      string   // guarded by mu
	good     string   // what the server takes; guarded by mu
	seen     []string // token and body of each request; guarded by mu
	renewals int      // guarded by mu
	ended    bool     // guarded by mu
}

func (a *ageing) Token() (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &oauth2.Token{AccessToken: a.now}, nil
}

func (a *ageing) renew(_ context.Context, refused string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return api.ErrSignedOut
	}
	if a.now == refused {
		a.renewals++
		a.now += "+"
	}
	return nil
}

func (a *ageing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	a.mu.Lock()
	a.seen = append(a.seen, token+" "+string(body))
	good := a.good == token
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if !good {
		status, refusal := api.Wire(api.ErrSignedOut)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(refusal)
		return
	}
	_, _ = w.Write([]byte(`{"code":"x"}`))
}

func (a *ageing) client(t *testing.T) *remote.Client {
	t.Helper()
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	c, err := remote.New(remote.Options{URL: srv.URL, Token: a, Renew: a.renew})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRefusedTokenIsRenewedOnce: a token that the server refuses is renewed and the
// request sent again, with its body; a new one that is refused as well is not.
func TestRefusedTokenIsRenewedOnce(t *testing.T) {
	a := &ageing{now: "old", good: "old+"}
	c := a.client(t)
	if _, err := c.Restore(t.Context(), api.Key{}, 7); err != nil {
		t.Errorf("with a token that ended: %v", err)
	}
	if len(a.seen) != 2 || strings.TrimPrefix(a.seen[0], "old ") != strings.TrimPrefix(a.seen[1], "old+ ") || !strings.Contains(a.seen[1], `"version":7`) {
		t.Errorf("sent %q", a.seen)
	}
	a.mu.Lock()
	a.good = "another"
	a.mu.Unlock()
	for range 3 {
		if _, err := c.WhoAmI(t.Context()); !errors.Is(err, api.ErrSignedOut) {
			t.Errorf("refused: %v", err)
		}
	}
	if a.renewals != 2 {
		t.Errorf("%d renewals, want 2: one that helped, one that did not", a.renewals)
	}
	ended := &ageing{now: "old", ended: true}
	if _, err := ended.client(t).WhoAmI(t.Context()); !errors.Is(err, api.ErrSignedOut) || len(ended.seen) != 1 {
		t.Errorf("a sign-in that ended: %v, %d requests", err, len(ended.seen))
	}
}
