package upstream_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/teammem/teammemd/server/auth/upstream"
	"github.com/teammem/teammemd/server/auth/upstream/upstreamtest"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore/sqlitetest"
)

func newSealer(t *testing.T) *upstream.Sealer {
	t.Helper()
	s, err := upstream.LoadSealer(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSeal(t *testing.T) {
	s := newSealer(t)
	token := &oauth2.Token{AccessToken: "secret-text", RefreshToken: "other", Expiry: time.Unix(1e9, 0).UTC()}
	sealed, err := s.Seal(token, "https://github.com", "7")
	if err != nil || bytes.Contains(sealed, []byte("secret")) {
		t.Fatalf("%q, %v", sealed, err)
	}
	again, err := s.Seal(token, "https://github.com", "7")
	if err != nil || bytes.Equal(sealed, again) {
		t.Errorf("sealed twice alike, %v", err)
	}
	got, err := s.Open(sealed, "https://github.com", "7")
	if err != nil || got.AccessToken != token.AccessToken || got.RefreshToken != token.RefreshToken || !got.Expiry.Equal(token.Expiry) {
		t.Errorf("%v", err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for what, open := range map[string]func() (*oauth2.Token, error){
		"another person's": func() (*oauth2.Token, error) { return s.Open(sealed, "https://github.com", "8") },
		"another issuer's": func() (*oauth2.Token, error) { return s.Open(sealed, "https://github.com\x007", "") },
		"another key's":    func() (*oauth2.Token, error) { return newSealer(t).Open(sealed, "https://github.com", "7") },
		"changed":          func() (*oauth2.Token, error) { return s.Open(flipped, "https://github.com", "7") },
		"cut":              func() (*oauth2.Token, error) { return s.Open(sealed[:5], "https://github.com", "7") },
		"nothing":          func() (*oauth2.Token, error) { return s.Open(nil, "https://github.com", "7") },
	} {
		if _, err := open(); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	first, err := upstream.LoadSealer(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	sealed, err := first.Seal(&oauth2.Token{AccessToken: "x"}, "i", "s")
	if err != nil {
		t.Fatal(err)
	}
	second, err := upstream.LoadSealer(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Open(sealed, "i", "s"); err != nil {
		t.Errorf("the same file is another key: %v", err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := upstream.LoadSealer(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others may read: %v", err)
	}
	for _, text := range []string{"", "short", strings.Repeat("A", 4096)} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := upstream.LoadSealer(file); err == nil {
			t.Errorf("%d bytes are a key", len(text))
		}
	}
	if _, err := upstream.LoadSealer(t.TempDir()); err == nil {
		t.Error("a directory is a key")
	}
}

// kept is a person with a token of a forge that lives for 8 hours.
type kept struct {
	forge  *upstreamtest.Forge
	people store.Accounts
	sealer *upstream.Sealer
	user   store.User
	first  string
	tokens *upstream.Tokens

	mu  sync.Mutex
	now time.Time
}

func (k *kept) Now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.now
}

func (k *kept) Advance(d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.now = k.now.Add(d)
}

func newKept(t *testing.T, life time.Duration) *kept {
	t.Helper()
	k := &kept{forge: upstreamtest.NewForge(t), sealer: newSealer(t), now: time.Now()}
	k.forge.Life = life
	k.people = sqlitetest.Serve(t, t.TempDir())
	p := newForge(t, k.forge)
	trip := newTrip(upstreamtest.Callback)
	who, err := p.Identify(t.Context(), travel(t, p, trip).Get("code"), trip)
	if err != nil {
		t.Fatal(err)
	}
	k.first = who.Token.AccessToken
	sealed, err := k.sealer.Seal(who.Token, who.Issuer, who.Subject)
	if err != nil {
		t.Fatal(err)
	}
	k.user, err = k.people.SaveUser(t.Context(), store.User{ID: "ada", Issuer: who.Issuer, Subject: who.Subject, Upstream: sealed, CreatedAt: k.now})
	if err != nil {
		t.Fatal(err)
	}
	k.tokens = upstream.NewTokens(k.people, k.sealer, p, k.Now)
	return k
}

func TestTokensAreRenewedOnce(t *testing.T) {
	k := newKept(t, 8*time.Hour)
	got, err := k.tokens.Token(t.Context(), "ada")
	if err != nil || got != k.first || k.forge.Renewed() != 0 {
		t.Fatalf("%v, renewed %d times", err, k.forge.Renewed())
	}
	k.Advance(8*time.Hour - time.Minute) // too little is left of it
	k.forge.Life = 100 * time.Hour       // the library counts from the clock on the wall
	k.forge.Slow = make(chan struct{})
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 20 {
		all.Go(func() {
			got, err := k.tokens.Token(t.Context(), "ada")
			if err != nil || !k.forge.Knows(got) {
				t.Errorf("renewing: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[got] = true
		})
	}
	close(k.forge.Slow)
	all.Wait()
	if k.forge.Renewed() != 1 || len(seen) != 1 || seen[k.first] {
		t.Errorf("renewed %d times, %d tokens", k.forge.Renewed(), len(seen))
	}
	for range 3 { // what was renewed was kept, with the next refresh token
		if got, err = k.tokens.Token(t.Context(), "ada"); err != nil || !seen[got] {
			t.Errorf("after the renewal: %v", err)
		}
	}
}

func TestTokensThatAreGone(t *testing.T) {
	k := newKept(t, 0)
	k.Advance(1000 * time.Hour)
	if got, err := k.tokens.Token(t.Context(), "ada"); err != nil || got != k.first {
		t.Errorf("a token without an end: %v", err)
	}
	if _, err := k.tokens.Token(t.Context(), "nobody"); !errors.Is(err, store.ErrNoUser) {
		t.Errorf("nobody: %v", err)
	}
	for id, u := range map[string]store.User{
		"local": {Issuer: store.IssuerLocal}, "other": {Issuer: "https://other.example", Upstream: k.user.Upstream}, "moved": {Issuer: k.user.Issuer, Upstream: k.user.Upstream},
	} {
		u.ID, u.Subject = id, id
		if _, err := k.people.SaveUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
		if _, err := k.tokens.Token(t.Context(), id); !errors.Is(err, upstream.ErrNoToken) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestTokensRefused: a refresh token that another server took first, and one that
// the forge takes no more.
func TestTokensRefused(t *testing.T) {
	k := newKept(t, 8*time.Hour)
	k.Advance(9 * time.Hour)
	other := upstream.NewTokens(k.people, k.sealer, newForge(t, k.forge), k.Now)
	k.forge.Life = 100 * time.Hour
	want, err := other.Token(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := k.tokens.Token(t.Context(), "ada"); err != nil || got != want {
		t.Errorf("after another server's renewal: %v", err)
	}
	if err := k.people.ChangeUser(t.Context(), "ada", func(store.User) (store.User, error) { return k.user, nil }); err != nil {
		t.Fatal(err) // as from a backup
	}
	if _, err := k.tokens.Token(t.Context(), "ada"); !errors.Is(err, upstream.ErrRefused) {
		t.Errorf("a spent refresh token: %v", err)
	}
	k.forge.Fail = 503
	if _, err := k.tokens.Token(t.Context(), "ada"); !errors.Is(err, upstream.ErrUnreachable) {
		t.Errorf("a forge that is down: %v", err)
	}
}
