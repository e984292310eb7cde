package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/teammem/teammemd/server/store"
)

// ErrNoToken says that nothing is kept with which an issuer could be asked in a
// person's name: they have to sign in again.
var ErrNoToken = errors.New("no token of the issuer is kept for this user")

// renewBefore is how long a token must still live to be used.
const renewBefore = 2 * time.Minute

// Tokens lends the tokens with which a forge is asked in people's names, and
// renews those that end. Its methods may be called from any goroutine.
type Tokens struct {
	people store.People
	sealer *Sealer
	forge  *Forge
	now    func() time.Time
	flight singleflight.Group
}

// NewTokens returns the Tokens of one forge. A nil clock is [time.Now].
func NewTokens(people store.People, sealer *Sealer, forge *Forge, now func() time.Time) *Tokens {
	if now == nil {
		now = time.Now
	}
	return &Tokens{people: people, sealer: sealer, forge: forge, now: now}
}

// Token returns an access token of a user that lives for at least a minute or
// two. Those who ask at once wait for one renewal: a refresh token works once.
// Errors wrap [ErrNoToken], [ErrRefused] (they have to sign in again) or
// [ErrUnreachable].
func (t *Tokens) Token(ctx context.Context, user string) (string, error) {
	token, _, err := t.kept(ctx, user)
	if err != nil {
		return "", err
	}
	if t.lives(token) {
		return token.AccessToken, nil
	}
	got := t.flight.DoChan(user, func() (any, error) {
		// Others wait for it too, so it does not end with the first one's request.
		return t.renew(context.WithoutCancel(ctx), user)
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case result := <-got:
		if result.Err != nil {
			return "", result.Err
		}
		return result.Val.(string), nil // renew returns one
	}
}

func (t *Tokens) lives(token *oauth2.Token) bool {
	return token.Expiry.IsZero() || t.now().Add(renewBefore).Before(token.Expiry)
}

// kept returns the token that is stored, and how.
func (t *Tokens) kept(ctx context.Context, user string) (*oauth2.Token, store.User, error) {
	u, err := t.people.User(ctx, user)
	if err != nil {
		return nil, u, err
	}
	if u.Upstream == nil || u.Issuer != t.forge.Issuer() {
		return nil, u, ErrNoToken
	}
	token, err := t.sealer.Open(u.Upstream, u.Issuer, u.Subject)
	if err != nil {
		return nil, u, fmt.Errorf("%w: %w", ErrNoToken, err)
	}
	return token, u, nil
}

func (t *Tokens) renew(ctx context.Context, user string) (string, error) {
	token, u, err := t.kept(ctx, user) // again: the flight before may have renewed it
	if err != nil {
		return "", err
	}
	if t.lives(token) {
		return token.AccessToken, nil
	}
	if token.RefreshToken == "" {
		return "", ErrNoToken
	}
	old := *token
	old.Expiry = time.Unix(1, 0) // ours to decide, by our clock
	fresh, err := t.forge.Renew(ctx, &old)
	if err != nil {
		// Another server on the same database may have been faster.
		if again, _, keptErr := t.kept(ctx, user); keptErr == nil && t.lives(again) {
			return again.AccessToken, nil
		}
		return "", err
	}
	sealed, err := t.sealer.Seal(fresh, u.Issuer, u.Subject)
	if err != nil {
		return "", err
	}
	err = t.people.ChangeUser(ctx, user, func(have store.User) (store.User, error) {
		if !slices.Equal(have.Upstream, u.Upstream) {
			return store.User{}, nil // they signed in anew meanwhile, which is newer
		}
		have.Upstream = sealed
		return have, nil
	})
	if err != nil {
		return "", fmt.Errorf("keeping a renewed token: %w", err)
	}
	return fresh.AccessToken, nil
}
