package oauth_test

import (
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func TestRefreshRotates(t *testing.T) {
	w := newWorld(t)
	now := w.signedIn(w.browser().joined("Ada"))
	seen := map[string]bool{now.Refresh: true, now.Access: true}
	for range 5 {
		w.clock.Advance(time.Hour)
		w.fails(now.Access)
		next := w.wantTokens("refresh", w.refresh(now.Refresh))
		if seen[next.Refresh] || seen[next.Access] {
			t.Fatal("a secret was given twice")
		}
		seen[next.Refresh], seen[next.Access] = true, true
		w.works(next.Access)
		now = next
	}
	w.clock.Advance(90*24*time.Hour - time.Millisecond)
	now = w.wantTokens("just in time", w.refresh(now.Refresh)) // and it lives for 90 days from here
	w.clock.Advance(90*24*time.Hour - time.Millisecond)
	now = w.wantTokens("just in time again", w.refresh(now.Refresh))
	w.clock.Advance(90 * 24 * time.Hour)
	w.wantRefusal("too late", w.refresh(now.Refresh), 400, "invalid_grant")
	if w.audited("refresh.reuse") != 0 {
		t.Error("an expired token passed for a stolen one")
	}
}

// TestLostAnswers walks through what may become of the answer to a refresh, and
// what a second use of the same token is then.
func TestLostAnswers(t *testing.T) {
	const good, stolen = true, false
	tests := []struct {
		name string
		then func(w *world, next tokens) // between the refresh and the second use
		want bool
	}{
		{"at once", func(*world, tokens) {}, good},
		{"a day later, nobody used the answer", func(w *world, _ tokens) { w.clock.Advance(24 * time.Hour) }, good},
		{"the answer's access token was used, a moment ago", func(w *world, next tokens) { w.works(next.Access); w.clock.Advance(10 * time.Second) }, good},
		{"the answer's access token was used", func(w *world, next tokens) { w.works(next.Access); w.clock.Advance(10*time.Second + time.Millisecond) }, stolen},
		{"the answer's refresh token was used, a moment ago", func(w *world, next tokens) {
			w.wantTokens("successor", w.refresh(next.Refresh))
			w.clock.Advance(10 * time.Second)
		}, good},
		{"the answer's refresh token was used", func(w *world, next tokens) {
			w.wantTokens("successor", w.refresh(next.Refresh))
			w.clock.Advance(10*time.Second + time.Millisecond)
		}, stolen},
		{"used, and the server's cache is cold", func(w *world, next tokens) {
			w.works(next.Access)
			w.auth.Forget()
			w.works(next.Access)
			w.clock.Advance(time.Minute)
		}, stolen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			first := w.signedIn(w.browser().joined("Ada"))
			w.works(first.Access)
			w.clock.Advance(time.Hour)
			next := w.wantTokens("refresh", w.refresh(first.Refresh))
			tt.then(w, next)
			again := w.refresh(first.Refresh)
			if tt.want == good {
				sibling := w.wantTokens("the same token again", again)
				w.works(sibling.Access)
				if w.audited("refresh.reuse") != 0 {
					t.Error("audited as stolen")
				}
				return
			}
			w.wantRefusal("the same token again", again, 400, "invalid_grant")
			w.fails(next.Access)
			w.wantRefusal("the rest of the family", w.refresh(next.Refresh), 400, "invalid_grant")
			if w.audited("refresh.reuse") != 1 || !strings.Contains(w.log.String(), "used again") {
				t.Error("the reuse was not audited")
			}
		})
	}
}

// TestSiblings: two tokens of one generation live side by side until one of them
// goes on, and then the other one's use is a theft.
func TestSiblings(t *testing.T) {
	w := newWorld(t)
	first := w.signedIn(w.browser().joined("Ada"))
	a := w.wantTokens("one", w.refresh(first.Refresh))
	b := w.wantTokens("two", w.refresh(first.Refresh))
	w.works(a.Access)
	w.works(b.Access)
	w.clock.Advance(time.Hour)
	next := w.wantTokens("one goes on", w.refresh(a.Refresh))
	w.works(next.Access)
	w.clock.Advance(time.Minute)
	w.wantRefusal("the other", w.refresh(b.Refresh), 400, "invalid_grant")
	w.fails(next.Access)
}

// TestStolen: a thief who refreshes first is found out when the owner refreshes,
// and the other way round. Other sign-ins of the same person go on.
func TestStolen(t *testing.T) {
	for _, first := range []string{"the thief", "the owner"} {
		w := newWorld(t)
		b := w.browser().joined("Ada")
		other, stolen := w.signedIn(b), w.signedIn(b)
		w.clock.Advance(time.Hour)
		got := w.wantTokens(first, w.refresh(stolen.Refresh))
		w.works(got.Access)
		w.clock.Advance(time.Hour / 2)
		w.wantRefusal("the second one, after "+first, w.refresh(stolen.Refresh), 400, "invalid_grant")
		w.fails(got.Access)
		w.wantRefusal("what "+first+" got", w.refresh(got.Refresh), 400, "invalid_grant")
		w.works(w.wantTokens("another device", w.refresh(other.Refresh)).Access)
		if w.audited("refresh.reuse") != 1 {
			t.Errorf("audited: %+v", w.audits)
		}
	}
}

func TestRefreshIsTheClients(t *testing.T) {
	w := newWorld(t)
	now := w.signedIn(w.browser().joined("Ada"))
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {"other"}, "refresh_token": {now.Refresh}}
	w.wantRefusal("another client", w.form(api.PathToken, form), 401, "invalid_client")
	for what, secret := range map[string]string{"the access token": now.Access, "a longer one": now.Refresh + "A", "a shorter one": now.Refresh[:46]} {
		w.wantRefusal(what, w.refresh(secret), 400, "invalid_grant")
	}
	w.wantTokens("its own", w.refresh(now.Refresh))
}

// TestRefreshRace lets two programs refresh at once, round after round, as two
// processes do that share a file without a lock: each reads what is there,
// refreshes, uses what it got and writes it back. No round may end the sign-in.
func TestRefreshRace(t *testing.T) {
	rounds := 500
	if testing.Short() {
		rounds = 50
	}
	w := newWorld(t)
	now := w.signedIn(w.browser().joined("Ada"))
	var mu sync.Mutex // of the file alone, not of the refresh
	file := now.Refresh
	for round := range rounds {
		var both sync.WaitGroup
		for who := range 2 {
			both.Go(func() {
				mu.Lock()
				have := file
				mu.Unlock()
				a := w.refresh(have)
				if a.status != 200 {
					t.Errorf("round %d, %d: %d %s", round, who, a.status, a.body)
					return
				}
				got := w.wantTokens("race", a)
				w.works(got.Access)
				mu.Lock()
				file = got.Refresh
				mu.Unlock()
			})
		}
		both.Wait()
		if t.Failed() {
			t.FailNow()
		}
		w.clock.Advance(time.Hour)
	}
	families, err := w.accounts.Families(t.Context(), "")
	if err != nil || len(families) != 1 || w.audited("refresh.reuse") != 0 {
		t.Errorf("after %d rounds: %d families live, %v, %d reuses", rounds, len(families), err, w.audited("refresh.reuse"))
	}
}

// TestRefreshStampede lets many present one token at once: all get tokens that
// work, whoever of them goes on.
func TestRefreshStampede(t *testing.T) {
	w := newWorld(t)
	first := w.signedIn(w.browser().joined("Ada"))
	got := make([]tokens, 16)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i] = w.wantTokens("one of many", w.refresh(first.Refresh)) })
	}
	all.Wait()
	for _, one := range got {
		w.works(one.Access)
		w.works(w.wantTokens("its own successor, within the leeway", w.refresh(one.Refresh)).Access)
	}
}

// TestDroppedUser: who is dropped is out at once.
func TestDroppedUser(t *testing.T) {
	w := newWorld(t)
	now := w.signedIn(w.browser().joined("Ada"))
	users, err := w.accounts.Users(t.Context())
	if err != nil || len(users) != 1 || users[0].Issuer != store.IssuerLocal {
		t.Fatalf("%+v, %v", users, err)
	}
	if err := w.accounts.DropUser(t.Context(), users[0].ID, w.clock.Now()); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second) // the cache is another process's
	w.fails(now.Access)
	w.wantRefusal("refreshing", w.refresh(now.Refresh), 400, "invalid_grant")
}
