package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const (
	// codeLetters is Crockford's base 32: no I, L, O or U. 8 letters are 40 bits,
	// of which an attacker tries five.
	codeLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	codeLength  = 8
	// CodeLife is how long a join code can be redeemed.
	CodeLife = 15 * time.Minute
	// CodeTries is the number of wrong tries that burn every live code.
	CodeTries = 5
)

// Joined is what a redeemed code yields.
type Joined struct {
	Secret string // of a new token; shown once
	Repo   api.Repo
	Role   api.Role
}

// NewJoinCode makes a code with which one person gets a token for repo with the
// role of a writer, within [CodeLife]. It is kept nowhere and cannot be shown
// again.
func (a *Auth) NewJoinCode(ctx context.Context, repo api.Repo) (api.JoinCodeAnswer, error) {
	code := randomText(codeLetters, codeLength)
	c := store.JoinCode{
		Hash: HashSecret(code), Repo: repo, Role: api.Writer,
		ExpiresAt: a.now().UTC().Truncate(time.Millisecond).Add(CodeLife),
	}
	if err := a.creds.AddJoinCode(ctx, c); err != nil {
		return api.JoinCodeAnswer{}, fmt.Errorf("storing a join code: %w", err)
	}
	shown := code[:codeLength/2] + "-" + code[codeLength/2:]
	return api.JoinCodeAnswer{Code: shown, Repo: repo, Role: c.Role, ExpiresAt: c.ExpiresAt}, nil
}

// Redeem takes a code away and returns a token for it, named after device. Of
// any number of callers one gets it. The error wraps [api.ErrForbidden] for a
// code that is wrong, used, burnt or too old, all in the same words: every such
// try counts against every live code.
func (a *Auth) Redeem(ctx context.Context, code, device string) (Joined, error) {
	var joined Joined
	var made Token
	name := deviceName(device)
	err := a.creds.RedeemJoinCode(ctx, HashJoinCode(code), a.now().UTC(), CodeTries,
		func(c store.JoinCode) (Token, error) {
			t, secret, err := a.mint(name, c.Repo.String(), c.Role, time.Time{})
			joined, made = Joined{Secret: secret, Repo: c.Repo, Role: c.Role}, t
			return t, err
		})
	if errors.Is(err, store.ErrNoCredential) {
		return Joined{}, api.Errorf(api.ErrForbidden, "the join code is wrong, used or too old; ask for a new one")
	}
	if err != nil {
		return Joined{}, fmt.Errorf("redeeming a join code: %w", err)
	}
	a.record(ctx, store.ActionJoin, made.Name, made)
	a.log.InfoContext(ctx, "join code redeemed", "repo", joined.Repo.String(), "role", joined.Role.String())
	return joined, nil
}

// HashJoinCode is the hash by which a join code is kept, however it was typed.
func HashJoinCode(code string) [32]byte { return HashSecret(canonicalCode(code)) }

// canonicalCode undoes what people do to a code when they copy it: case,
// dashes, spaces, and letters read as digits.
func canonicalCode(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', ' ', '\t', '\r', '\n':
			return -1
		case 'o', 'O':
			return '0'
		case 'i', 'I', 'l', 'L':
			return '1'
		}
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'A'
		}
		return r
	}, s)
}

// deviceName makes a token's name of what a machine calls itself.
func deviceName(device string) string {
	device = api.CleanText(device, maxNameBytes)
	if device == "" {
		return "joined"
	}
	return device
}
