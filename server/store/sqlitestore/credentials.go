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

// write runs one transaction on the writer's connection. A context that ends
// before the transaction begins leaves everything as it was; later it has no
// effect.
func (s *Store) write(ctx context.Context, run func(*sqlite.Conn) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.writer == nil {
		return errClosed
	}
	return transact(s.writer, func() error { return run(s.writer) })
}

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
	err := exec(conn, "INSERT INTO tokens (id, name, hash, repos, role, created_ms, expires_ms, revoked_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		t.ID, t.Name, t.Hash[:], t.Repos, t.Role.String(), t.CreatedAt.UnixMilli(), optionalMillis(t.ExpiresAt), optionalMillis(t.RevokedAt))
	if err != nil {
		return err
	}
	return touchCredentials(conn)
}

const tokenColumns = "id, name, hash, repos, role, created_ms, expires_ms, revoked_ms"

func scanToken(stmt *sqlite.Stmt) (store.Token, error) {
	role, err := api.ParseRole(stmt.ColumnText(4))
	if err != nil {
		return store.Token{}, fmt.Errorf("%w: a token's role: %w", errDamaged, err)
	}
	hash, err := columnSum(stmt, 2)
	if err != nil {
		return store.Token{}, err
	}
	return store.Token{
		ID: stmt.ColumnText(0), Name: stmt.ColumnText(1), Hash: hash, Repos: stmt.ColumnText(3), Role: role,
		CreatedAt: fromMillis(stmt.ColumnInt64(5)), ExpiresAt: columnOptionalTime(stmt, 6), RevokedAt: columnOptionalTime(stmt, 7),
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

// Tokens lists all tokens, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]store.Token, error) {
	return s.tokens(ctx, "SELECT "+tokenColumns+" FROM tokens ORDER BY created_ms, rowid")
}

func (s *Store) tokens(ctx context.Context, sql string, args ...any) ([]store.Token, error) {
	var tokens []store.Token
	err := s.read(ctx, sql, args, func(stmt *sqlite.Stmt) error {
		t, err := scanToken(stmt)
		tokens = append(tokens, t)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading tokens: %w", err)
	}
	return tokens, nil
}

// RevokeToken marks a token as revoked. The zero time is refused: it would leave
// the token live.
func (s *Store) RevokeToken(ctx context.Context, id string, at time.Time) error {
	if at.IsZero() {
		return errors.New("revoking a token: no time given")
	}
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := exec(conn, "UPDATE tokens SET revoked_ms = coalesce(revoked_ms, ?) WHERE id = ?", at.UnixMilli(), id); err != nil {
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

// Generation returns a number that changes with every change of tokens.
func (s *Store) Generation(ctx context.Context) (generation uint64, err error) {
	err = s.read(ctx, "SELECT value FROM meta WHERE name = 'credential_generation'", nil, func(stmt *sqlite.Stmt) error {
		generation = uint64(stmt.ColumnInt64(0))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading the credential generation: %w", err)
	}
	return generation, nil
}
