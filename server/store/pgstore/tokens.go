package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

var errNoTime = errors.New("revoking a token: no time given") // 0 is stored for "live"

func touchCredentials(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "UPDATE meta SET value = (value::bigint + 1)::text WHERE name = 'credential_generation'")
	return err
}

// AddToken stores a token.
func (s *Store) AddToken(ctx context.Context, t store.Token) error {
	err := s.commit(ctx, notice{}, func(ctx context.Context, tx pgx.Tx) error {
		if err := insertToken(ctx, tx, t); err != nil {
			return err
		}
		return touchCredentials(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("storing a token: %w", err)
	}
	return nil
}

const tokenColumns = "id, name, hash, repos, role, created_ms, expires_ms, revoked_ms, account, family, generation, used_ms"

func insertToken(ctx context.Context, tx pgx.Tx, t store.Token) error {
	_, err := tx.Exec(ctx, "INSERT INTO tokens ("+tokenColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
		t.ID, t.Name, t.Hash[:], t.Repos, t.Role.String(), toMillis(t.CreatedAt), toMillis(t.ExpiresAt), toMillis(t.RevokedAt),
		t.User, t.Family, int64(t.Generation), toMillis(t.Used))
	return err
}

func scanToken(row pgx.CollectableRow) (t store.Token, err error) {
	var hash []byte
	var role string
	var created, expires, revoked, used int64
	if err := row.Scan(&t.ID, &t.Name, &hash, &t.Repos, &role, &created, &expires, &revoked, &t.User, &t.Family, &t.Generation, &used); err != nil {
		return t, err
	}
	t.CreatedAt, t.ExpiresAt, t.RevokedAt, t.Used = fromMillis(created), fromMillis(expires), fromMillis(revoked), fromMillis(used)
	if t.Role, err = api.ParseRole(role); err != nil && t.User == "" { // a sign-in need not be bounded
		return t, fmt.Errorf("a stored token is damaged: %w", err)
	}
	t.Hash, err = hashOf(hash)
	return t, err
}

// hashOf reads the hash of a secret.
func hashOf(stored []byte) (hash [32]byte, err error) {
	if len(stored) != len(hash) {
		return hash, fmt.Errorf("a stored hash is damaged: it has %d bytes", len(stored))
	}
	copy(hash[:], stored)
	return hash, nil
}

// TokenByHash returns the token with this hash.
func (s *Store) TokenByHash(ctx context.Context, hash [32]byte) (store.Token, error) {
	tokens, err := s.tokens(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE hash = $1", hash[:])
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

func (s *Store) tokens(ctx context.Context, query string, args ...any) (tokens []store.Token, err error) {
	err = s.read(ctx, func(q querier) error {
		rows, err := q.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		tokens, err = pgx.CollectRows(rows, scanToken)
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
		return errNoTime
	}
	err := s.commit(ctx, notice{}, func(ctx context.Context, tx pgx.Tx) error {
		done, err := tx.Exec(ctx, "UPDATE tokens SET revoked_ms = CASE revoked_ms WHEN 0 THEN $1 ELSE revoked_ms END WHERE id = $2", toMillis(at), id)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return store.ErrNoCredential
		}
		return touchCredentials(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("revoking a token: %w", err)
	}
	return nil
}

// Generation returns a number that changes with every change of tokens.
func (s *Store) Generation(ctx context.Context) (generation uint64, err error) {
	err = s.read(ctx, func(q querier) error {
		return q.QueryRow(ctx, "SELECT value::bigint FROM meta WHERE name = 'credential_generation'").Scan(&generation)
	})
	if err != nil {
		return 0, fmt.Errorf("reading the credential generation: %w", err)
	}
	return generation, nil
}
