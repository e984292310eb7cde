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

// AddJoinCode stores a code.
func (s *Store) AddJoinCode(ctx context.Context, c store.JoinCode) error {
	err := s.commit(ctx, notice{}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO join_codes (hash, repo, role, expires_ms, tries) VALUES ($1, $2, $3, $4, $5)",
			c.Hash[:], c.Repo.String(), c.Role.String(), toMillis(c.ExpiresAt), c.Tries)
		return err
	})
	if err != nil {
		return fmt.Errorf("storing a join code: %w", err)
	}
	return nil
}

// RedeemJoinCode takes the live code with this hash away and stores the token
// that mint makes for it.
func (s *Store) RedeemJoinCode(ctx context.Context, hash [32]byte, now time.Time, maxTries int, mint func(store.JoinCode) (store.Token, error)) error {
	missed := false
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		code, found, err := takeCode(ctx, tx, hash, now, maxTries)
		missed = err == nil && !found // the count must be committed, so this is no error yet
		if err != nil || !found {
			return err
		}
		token, err := mint(code)
		if err != nil {
			return err
		}
		if err := insertToken(ctx, tx, token); err != nil {
			return err
		}
		return touchCredentials(ctx, tx)
	})
	if err == nil && missed {
		err = store.ErrNoCredential
	}
	if err != nil {
		return fmt.Errorf("redeeming a join code: %w", err)
	}
	return nil
}

// takeCode deletes the live code with this hash, or counts a wrong try against
// all that live.
func takeCode(ctx context.Context, tx pgx.Tx, hash [32]byte, now time.Time, maxTries int) (code store.JoinCode, found bool, err error) {
	if _, err := tx.Exec(ctx, "DELETE FROM join_codes WHERE expires_ms <= $1", toMillis(now)); err != nil {
		return code, false, err
	}
	var repo, role string
	var expires int64
	err = tx.QueryRow(ctx, "DELETE FROM join_codes WHERE hash = $1 RETURNING repo, role, expires_ms, tries", hash[:]).Scan(&repo, &role, &expires, &code.Tries)
	switch {
	case err == nil:
		var repoErr, roleErr error
		code.Repo, repoErr = api.ParseRepo(repo)
		code.Role, roleErr = api.ParseRole(role)
		code.Hash, code.ExpiresAt = hash, fromMillis(expires)
		return code, true, errors.Join(repoErr, roleErr)
	case !errors.Is(err, pgx.ErrNoRows):
		return code, false, err
	}
	if _, err := tx.Exec(ctx, "UPDATE join_codes SET tries = tries + 1"); err != nil {
		return code, false, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM join_codes WHERE tries >= $1", maxTries)
	return code, false, err
}
