package signin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/signin"
	"github.com/teammem/teammemd/server/store"
)

const off = 10 * time.Minute

// TestClocksApart: a server whose clock is ten minutes off, either way, is signed
// in to like any other, and the sign-in is renewed in time.
func TestClocksApart(t *testing.T) {
	for _, apart := range []time.Duration{-off, off} {
		w := newWorld(t)
		w.advance(apart)
		k := w.keeper(nil)
		w.signIn(k)
		token, err := k.Token(t.Context(), w.url)
		if err != nil || !good(t.Context(), w.url, token) {
			t.Errorf("%s apart: %v", apart, err)
		}
		if left := time.Until(w.stored().Expires); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%s apart: the token is taken to live for %s", apart, left)
		}
		w.expire(time.Minute)
		next, err := w.keeper(nil).Token(t.Context(), w.url)
		if err != nil || next == token || !good(t.Context(), w.url, next) {
			t.Errorf("%s apart: renewing: %v", apart, err)
		}
	}
}

// TestServerClockJumps: a server's clock that jumps ends nobody's sign-in: what it
// takes for expired is renewed, what was renewed a moment ago is no theft.
func TestServerClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-off, off} {
		w := newWorld(t)
		k := w.keeper(nil)
		w.signIn(k)
		w.advance(50*time.Minute + 10*time.Second)
		before := w.stored()
		w.advance(jump)
		token, err := k.Token(t.Context(), w.url)
		if err != nil {
			t.Fatal(err)
		}
		if !good(t.Context(), w.url, token) { // the server takes it for expired: whoever is refused renews
			if jump < 0 {
				t.Error("a clock that was set back refuses a good token")
			}
		}
		if err := k.Renew(t.Context(), w.url, token); err != nil || !good(t.Context(), w.url, w.stored().Access) {
			t.Errorf("jump of %s: %v", jump, err)
		}
		// The one before is spent; who raced presents it in the same moment.
		w.advance(-jump / 2)
		if jump > 0 {
			if _, err := w.server().Refresh(t.Context(), before.Refresh); err != nil {
				t.Errorf("a racer after a clock was set back: %v", err)
			}
		}
		if n := w.audited(store.ActionReuse); n != 0 {
			t.Errorf("jump of %s: %d reuses are audited", jump, n)
		}
		if err := k.Renew(t.Context(), w.url, w.stored().Access); err != nil {
			t.Errorf("jump of %s: the sign-in ended: %v", jump, err)
		}
	}
}

// TestDeviceGrantAcrossJumps: a clock that is set back delays nothing; one that
// jumps over the code's end says that it expired.
func TestDeviceGrantAcrossJumps(t *testing.T) {
	w := newWorld(t)
	ask := func(k *signin.Keeper) error { _, err := k.Resume(context.Background(), w.url); return err }
	begin := func() (k *signin.Keeper, userCode string) {
		p, err := w.server().Begin(t.Context(), "laptop")
		if err != nil {
			t.Fatal(err)
		}
		k = w.keeper(nil)
		if err := k.Await(p); err != nil {
			t.Fatal(err)
		}
		return k, p.UserCode
	}
	k, code := begin()
	if err := ask(k); !errors.Is(err, signin.ErrPending) {
		t.Fatal(err)
	}
	kept, err := k.Kept(w.url)
	if err != nil || kept.Pending == nil {
		t.Fatal(err)
	}
	w.advance(-off) // and the client's: it asked in what is the future by now
	kept.Pending.Asked = time.Now().Add(off)
	if err := k.Await(*kept.Pending); err != nil {
		t.Fatal(err)
	}
	w.answer(code, "approve")
	if err := ask(k); err != nil {
		t.Errorf("approved after the clocks were set back: %v", err)
	}
	k, _ = begin()
	w.advance(off + time.Second)
	if err := ask(k); !errors.Is(err, api.ErrSignedOut) || errors.Is(err, signin.ErrPending) {
		t.Errorf("the server's clock is past the code's end: %v", err)
	}
}
