package signin_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/signin"
)

// TestDeviceGrant walks through the answers that a person can give.
func TestDeviceGrant(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(nil)
	begin := func() config.Pending {
		p, err := w.server().Begin(t.Context(), "laptop")
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Await(p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, err := k.Token(t.Context(), w.url); !errors.Is(err, api.ErrSignedOut) {
		t.Errorf("signed out: %v", err)
	}
	p := begin()
	if _, err := k.Token(t.Context(), w.url); !errors.Is(err, signin.ErrPending) {
		t.Errorf("nobody answered: %v", err)
	}
	w.answer(p.UserCode, "deny")
	if _, err := k.Token(t.Context(), w.url); !errors.Is(err, signin.ErrPending) {
		t.Errorf("asked again within the interval: %v", err)
	}
	p.Asked = time.Time{}
	if err := k.Await(p); err != nil {
		t.Fatal(err)
	}
	w.advance(10 * time.Second)
	if _, err := k.Token(t.Context(), w.url); !errors.Is(err, api.ErrSignedOut) || !strings.Contains(err.Error(), "denied") {
		t.Errorf("denied: %v", err)
	}
	if kept, err := k.Kept(w.url); err != nil || kept.Pending != nil {
		t.Errorf("a denied code is kept: %v", err)
	}

	p = begin()
	p.Expires = time.Now().Add(-time.Second)
	if err := k.Await(p); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(t.Context(), w.url); !errors.Is(err, api.ErrSignedOut) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("expired: %v", err)
	}

	p = begin()
	w.answer(p.UserCode, "approve")
	token, err := w.keeper(nil).Token(t.Context(), w.url) // another process goes on
	if err != nil || !good(t.Context(), w.url, token) {
		t.Errorf("approved: %v", err)
	}
	if info, err := os.Stat(credentialsFile(w.dir)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read it: %v, %v", info.Mode(), err)
	}
}

// TestNoSignIn: a server that has none is told in one sentence.
func TestNoSignIn(t *testing.T) {
	w := newWorld(t)
	if err := w.server().Offers(t.Context()); err != nil {
		t.Error(err)
	}
	w.mu.Lock()
	w.features = `"events"`
	w.mu.Unlock()
	if err := w.server().Offers(t.Context()); !errors.Is(err, api.ErrUsage) {
		t.Errorf("without the feature: %v", err)
	}
}

// TestRenewedBeforeTheEnd: a token that ends soon is renewed; while the server
// cannot, it goes on being used as long as it is good.
func TestRenewedBeforeTheEnd(t *testing.T) {
	w := newWorld(t)
	w.signIn(w.keeper(nil))
	first := w.stored().Access
	if got, err := w.keeper(nil).Token(t.Context(), w.url); got != first || err != nil {
		t.Errorf("with an hour left: another token, %v", err)
	}
	w.mu.Lock()
	w.fault = func(rw http.ResponseWriter) bool { rw.WriteHeader(http.StatusServiceUnavailable); return true }
	w.mu.Unlock()
	w.expire(time.Minute)
	k := w.keeper(nil)
	for range 3 {
		if got, err := k.Token(t.Context(), w.url); got != first || err != nil {
			t.Errorf("a minute left, the server is down: another token, %v", err)
		}
	}
	if _, most := w.sent(); most != 1 {
		t.Errorf("a server that is down was asked %d times at once", most)
	}
	w.expire(-time.Second)
	if _, err := w.keeper(nil).Token(t.Context(), w.url); !errors.Is(err, api.ErrUnavailable) {
		t.Errorf("ended, the server is down: %v", err)
	}
	w.mu.Lock()
	w.fault = nil
	w.mu.Unlock()
	got, err := w.keeper(nil).Token(t.Context(), w.url)
	if err != nil || got == first || !good(t.Context(), w.url, got) {
		t.Errorf("after the outage: %v", err)
	}
}

// TestLostAnswer: when the answer to a renewal is lost the same token is tried
// again, and the sign-in lives on.
func TestLostAnswer(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(nil)
	w.signIn(k)
	before := w.stored()
	w.mu.Lock()
	w.lose = 2
	w.mu.Unlock()
	for range 2 {
		if err := k.Renew(t.Context(), w.url, before.Access); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("lost: %v", err)
		}
	}
	w.advance(24 * time.Hour)
	if w.stored() != before {
		t.Error("a lost answer changed what is stored")
	}
	if err := k.Renew(t.Context(), w.url, before.Access); err != nil || !good(t.Context(), w.url, w.stored().Access) {
		t.Errorf("tried again: %v", err)
	}
}

// TestForget: signing out ends the sign-in at the server; offline it is forgotten
// all the same.
func TestForget(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(nil)
	w.signIn(k)
	access := w.stored().Access
	gone, revoking, err := k.Forget(t.Context(), w.url, false)
	if !gone.SignIn || revoking != nil || err != nil || good(t.Context(), w.url, access) {
		t.Errorf("signing out: %+v, %v, %v", gone, revoking, err)
	}
	w.signIn(k)
	gone, revoking, err = signin.NewKeeper(signin.Options{Credentials: credentialsIn(w.dir), Transport: offline{}}).Forget(t.Context(), w.url, false)
	if !gone.SignIn || !errors.Is(revoking, api.ErrOffline) || err != nil {
		t.Errorf("offline: %+v, %v, %v", gone, revoking, err)
	}
	if kept, err := k.Kept(w.url); err != nil || kept.SignIn != nil {
		t.Errorf("offline, it is kept: %v", err)
	}
}

// TestForgetKeepsServiceTokens: what join and up stored is no sign-in.
func TestForgetKeepsServiceTokens(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(nil)
	w.signIn(k)
	if err := credentialsIn(w.dir).SaveToken(w.url, api.Repo{}, "tm_"+"stored"); err != nil {
		t.Fatal(err)
	}
	gone, _, err := k.Forget(t.Context(), w.url, false)
	if kept, keptErr := k.Kept(w.url); err != nil || keptErr != nil || !gone.SignIn || gone.Tokens != 0 || gone.Stay != 1 || len(kept.Tokens) != 1 || kept.SignIn != nil {
		t.Errorf("signing out: %+v, %v, %v, %+v", gone, err, keptErr, kept)
	}
	gone, _, err = k.Forget(t.Context(), w.url, true)
	if kept, keptErr := k.Kept(w.url); err != nil || keptErr != nil || gone.SignIn || gone.Tokens != 1 || gone.Stay != 0 || len(kept.Tokens) != 0 {
		t.Errorf("all: %+v, %v, %v, %+v", gone, err, keptErr, kept)
	}
}

type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("no route") }

// ring is a keyring in memory.
type ring struct {
	mu     sync.Mutex
	kept   map[string]string // guarded by mu
	broken bool              // guarded by mu
	reads  int               // guarded by mu
}

var errLocked = errors.New("locked")

func (r *ring) Get(name string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	text, ok := r.kept[name]
	if r.broken || !ok {
		return "", errLocked
	}
	return text, nil
}

func (r *ring) Set(name, secret string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		return errLocked
	}
	r.kept[name] = secret
	return nil
}

func (r *ring) Delete(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.kept, name)
	return nil
}

func (r *ring) breaks(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

// TestKeyring: with a keyring no secret is in the file; one that fails loses none.
func TestKeyring(t *testing.T) {
	w := newWorld(t)
	r := &ring{kept: map[string]string{}}
	k := w.keeper(r)
	w.signIn(k)
	if l := w.stored(); !l.Keyring || l.Access != "" || l.Refresh != "" {
		t.Error("secrets are in the file")
	}
	first, err := k.Token(t.Context(), w.url)
	if err != nil || !good(t.Context(), w.url, first) {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := k.Token(t.Context(), w.url); err != nil {
			t.Fatal(err)
		}
	}
	if r.reads != 1 {
		t.Errorf("the keyring was read %d times", r.reads)
	}
	// Another process renews: what this one remembers is old.
	if err := w.keeper(r).Renew(t.Context(), w.url, first); err != nil {
		t.Fatal(err)
	}
	second, err := k.Token(t.Context(), w.url)
	if err != nil || second == first || !good(t.Context(), w.url, second) {
		t.Errorf("after another's renewal: %v", err)
	}
	r.breaks(true)
	if _, err := w.keeper(r).Token(t.Context(), w.url); !errors.Is(err, api.ErrSignedOut) || !strings.Contains(err.Error(), "keyring") {
		t.Errorf("locked: %v", err)
	}
	if _, err := w.keeper(nil).Token(t.Context(), w.url); !errors.Is(err, api.ErrSignedOut) || !strings.Contains(err.Error(), "keyring") {
		t.Errorf("switched off: %v", err)
	}
	w.signIn(w.keeper(r)) // a broken keyring: the file
	if l := w.stored(); l.Keyring || l.Refresh == "" {
		t.Error("with a broken keyring the sign-in is nowhere")
	}
	r.breaks(false)
	w.signIn(k)
	if gone, revoking, err := k.Forget(t.Context(), w.url, false); !gone.SignIn || revoking != nil || err != nil || len(r.kept) != 0 {
		t.Errorf("signing out: %v, %v, %d left", revoking, err, len(r.kept))
	}
}

func TestKeyringWhereThereIsNone(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i+1 < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if signin.SystemKeyring(config.KeyringOff, env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/none")) != nil {
		t.Error("switched off")
	}
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && signin.SystemKeyring(config.KeyringAuto, env("XDG_RUNTIME_DIR", t.TempDir())) != nil {
		t.Error("no session bus")
	}
}

// TestGivesUpWaiting: a person who goes away ends the wait.
func TestGivesUpWaiting(t *testing.T) {
	w := newWorld(t)
	p, err := w.server().Begin(t.Context(), "laptop")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.server().Wait(ctx, p); err == nil {
		t.Error("it went on")
	}
}
