package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

const (
	// AccessPrefix lets people and scanners know a token when they see one.
	AccessPrefix = "tm_"
	secretBytes  = 32
	// maxNameBytes bounds a token's name, in bytes of UTF-8.
	maxNameBytes = 200
	idLetters    = "0123456789abcdefghjkmnpqrstvwxyz"
	idLength     = 16
)

var secretLength = len(AccessPrefix) + base64.RawURLEncoding.EncodedLen(secretBytes)

// Token is a stored token; the secret itself is not in it.
type Token = store.Token

// Create makes a token and returns it with its secret, which is kept nowhere and
// cannot be shown again. expires is the end of its life, zero for none. The
// error wraps [api.ErrUsage] for a name, pattern, role or time that cannot be.
func (a *Auth) Create(ctx context.Context, name, repos string, role api.Role, expires time.Time) (Token, string, error) {
	t, secret, err := a.mint(name, repos, role, expires)
	if err != nil {
		return Token{}, "", err
	}
	if err := a.creds.AddToken(ctx, t); err != nil {
		return Token{}, "", fmt.Errorf("storing token %q: %w", t.ID, err)
	}
	a.record(ctx, store.ActionTokenCreate, "", t)
	a.log.InfoContext(ctx, "token created", "id", t.ID, "repos", t.Repos, "role", t.Role.String())
	return t, secret, nil
}

// mint makes a token without storing it.
func (a *Auth) mint(name, repos string, role api.Role, expires time.Time) (Token, string, error) {
	now := a.now().UTC().Truncate(time.Millisecond)
	name = strings.TrimSpace(name)
	pattern, err := ParsePattern(repos)
	switch {
	case err != nil:
		return Token{}, "", err
	case name == "" || len(name) > maxNameBytes || !printable(name):
		return Token{}, "", fmt.Errorf("%w: a token's name has 1 to %d bytes of printable text", api.ErrUsage, maxNameBytes)
	case role < api.Reader || role > api.Admin:
		return Token{}, "", fmt.Errorf("%w: a token needs a role", api.ErrUsage)
	case !expires.IsZero() && !expires.After(now):
		return Token{}, "", fmt.Errorf("%w: the token would have expired already", api.ErrUsage)
	}
	secret, hash := NewSecret(AccessPrefix)
	t := Token{
		ID: NewID(), Name: name, Hash: hash,
		Repos: pattern.String(), Role: role, CreatedAt: now,
	}
	if !expires.IsZero() {
		t.ExpiresAt = expires.UTC().Truncate(time.Millisecond)
	}
	return t, secret, nil
}

// List returns all tokens, oldest first, expired and revoked ones included.
func (a *Auth) List(ctx context.Context) ([]Token, error) {
	tokens, err := a.creds.Tokens(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing tokens: %w", err)
	}
	return tokens, nil
}

// Revoke ends a token: at once in this process, within a second in others.
// Revoking twice is a success. The error wraps [api.ErrNotFound] for an unknown
// id.
func (a *Auth) Revoke(ctx context.Context, id string) error {
	err := a.creds.RevokeToken(ctx, id, a.now().UTC().Truncate(time.Millisecond))
	if errors.Is(err, store.ErrNoCredential) {
		return api.Errorf(api.ErrNotFound, "there is no token with this id")
	}
	if err != nil {
		return fmt.Errorf("revoking token %q: %w", id, err)
	}
	a.Forget()
	a.record(ctx, store.ActionTokenRevoke, "", Token{ID: id})
	a.log.InfoContext(ctx, "token revoked", "id", id)
	return nil
}

// record adds a row about a token to the server's chain. It happened: that it could
// not be recorded, or that the caller left, does not undo it.
func (a *Auth) record(ctx context.Context, action, device string, t Token) {
	about := map[string]string{"id": t.ID}
	if t.Repos != "" {
		about["name"], about["repos"], about["role"] = t.Name, t.Repos, t.Role.String()
	}
	detail, err := json.Marshal(about)
	if err == nil {
		err = a.audit(context.WithoutCancel(ctx), store.Event{
			Action: action, Actor: api.Actor{Device: device}, At: a.now().UTC().Truncate(time.Millisecond), Detail: string(detail),
		})
	}
	if err != nil {
		a.log.ErrorContext(ctx, "event was not audited", "action", action, "error", err)
	}
}

// Look returns what is stored of an access or service token, whatever its state.
// The error wraps [store.ErrNoCredential] for an unknown one.
func (a *Auth) Look(ctx context.Context, secret string) (Token, error) {
	if !looksLikeSecret(secret) {
		return Token{}, store.ErrNoCredential
	}
	return a.creds.TokenByHash(ctx, HashSecret(secret))
}

// NewSecret makes a random secret of 256 bits and the hash by which it is kept.
func NewSecret(prefix string) (secret string, hash [32]byte) {
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails: crypto/rand ends the process instead
	secret = prefix + base64.RawURLEncoding.EncodeToString(random)
	return secret, HashSecret(secret)
}

// HashSecret is the hash by which a secret is kept. So many random bits need no
// slow one.
func HashSecret(secret string) [32]byte {
	var room [64]byte // more than a secret of ours has: no copy on the heap
	return sha256.Sum256(append(room[:0], secret...))
}

// NewID makes a random name for a token, a user or a family of tokens.
func NewID() string { return randomText(idLetters, idLength) }

// looksLikeSecret keeps what cannot be a token away from the store.
func looksLikeSecret(s string) bool {
	return len(s) == secretLength && strings.HasPrefix(s, AccessPrefix)
}

// randomText returns n letters, each with the same chance: the alphabet's
// length divides 256.
func randomText(alphabet string, n int) string {
	random := make([]byte, n)
	_, _ = rand.Read(random)
	for i, b := range random {
		random[i] = alphabet[int(b)%len(alphabet)]
	}
	return string(random)
}

func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
