package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

func touchCredentials(conn *sqlite.Conn) error {
	return exec(conn, "UPDATE meta SET value = value + 1 WHERE name = 'credential_generation'")
}

// AddToken stores a token.
func (s *Store) AddToken(ctx context.Context, t store.Token) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error { return insertToken(conn, t) })
	if err != nil {
		return fmt.Errorf("storing a token: %w", err)
	}
	return nil
}

func insertToken(conn *sqlite.Conn, t store.Token) error {
	if err := writeToken(conn, t); err != nil {
		return err
	}
	return touchCredentials(conn)
}

func writeToken(conn *sqlite.Conn, t store.Token) error {
	return exec(conn, "INSERT INTO tokens ("+tokenColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		t.ID, t.Name, t.Hash[:], t.Repos, t.Role.String(), toMillis(t.CreatedAt), toMillis(t.ExpiresAt), toMillis(t.RevokedAt),
		t.User, t.Family, int64(t.Generation), toMillis(t.Used))
}

const tokenColumns = "id, name, hash, repos, role, created_ms, expires_ms, revoked_ms, user, family, generation, used_ms"

func scanToken(stmt *sqlite.Stmt) (store.Token, error) {
	user := stmt.ColumnText(8)
	role, err := api.ParseRole(stmt.ColumnText(4))
	if err != nil && user == "" { // a sign-in need not be bounded
		return store.Token{}, fmt.Errorf("a stored token is damaged: %w", err)
	}
	hash, err := columnSum(stmt, 2)
	if err != nil {
		return store.Token{}, err
	}
	return store.Token{
		ID: stmt.ColumnText(0), Name: stmt.ColumnText(1), Hash: hash, Repos: stmt.ColumnText(3), Role: role,
		CreatedAt: fromMillis(stmt.ColumnInt64(5)), ExpiresAt: fromMillis(stmt.ColumnInt64(6)), RevokedAt: fromMillis(stmt.ColumnInt64(7)),
		User: user, Family: stmt.ColumnText(9), Generation: uint64(stmt.ColumnInt64(10)), Used: fromMillis(stmt.ColumnInt64(11)),
	}, nil
}

// TokenByHash returns the token with this hash.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	tokens, err := s.tokens(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE hash = ?", hash[:])
	if err != nil {
		return store.Token{}, err
	}
	if len(tokens) == 0 {
		return store.Token{}, store.ErrNoCredential
	}
	return tokens[0], nil
}

// Tokens lists all tokens but those of sign-ins, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]store.Token, error) {
	return s.tokens(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE family = '' ORDER BY created_ms, id")
}

func (s *Store) tokens(ctx context.Context, query string, args ...any) ([]store.Token, error) {
	var tokens []store.Token
	err := s.read(ctx, query, args, func(stmt *sqlite.Stmt) error {
		t, err := scanToken(stmt)
		tokens = append(tokens, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	return tokens, nil
}

// RevokeToken marks a token as revoked.
func (s *Store) RevokeToken(ctx context.Context, id string, at time.Time) error {
	if toMillis(at) == 0 {
		return errors.New("revoking a token: no time given") // 0 is stored for "live"
	}
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := exec(conn, "UPDATE tokens SET revoked_ms = iif(revoked_ms = 0, ?, revoked_ms) WHERE id = ?", toMillis(at), id); err != nil {
			return err
		}
		if conn.Changes() == 0 {
			return store.ErrNoCredential
		}
		return touchCredentials(conn)
	})
	if err != nil {
		return fmt.Errorf("revoking a token: %w", err)
	}
	return nil
}

// fromMillis reads a time of a credential; 0 is the zero time.
func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func toMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
