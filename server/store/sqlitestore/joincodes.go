package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// AddJoinCode stores a code.
func (s *Store) AddJoinCode(ctx context.Context, c store.JoinCode) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		return exec(conn, "INSERT INTO join_codes (hash, repo, role, expires_ms, tries) VALUES (?, ?, ?, ?, ?)",
			c.Hash[:], c.Repo.String(), c.Role.String(), toMillis(c.ExpiresAt), c.Tries)
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
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := exec(conn, "DELETE FROM join_codes WHERE expires_ms <= ?", toMillis(now)); err != nil {
			return err
		}
		code, found, err := findCode(conn, hash)
		if err != nil {
			return err
		}
		if !found {
			// The count must be committed, so this is no error yet.
			missed = true
			if err := exec(conn, "UPDATE join_codes SET tries = tries + 1"); err != nil {
				return err
			}
			return exec(conn, "DELETE FROM join_codes WHERE tries >= ?", maxTries)
		}
		token, err := mint(code)
		if err != nil {
			return err
		}
		if err := exec(conn, "DELETE FROM join_codes WHERE hash = ?", hash[:]); err != nil {
			return err
		}
		return insertToken(conn, token)
	})
	if err == nil && missed {
		err = store.ErrNoCredential
	}
	if err != nil {
		return fmt.Errorf("redeeming a join code: %w", err)
	}
	return nil
}

func findCode(conn *sqlite.Conn, hash [32]byte) (code store.JoinCode, found bool, err error) {
	err = sqlitex.Execute(conn, "SELECT repo, role, expires_ms, tries FROM join_codes WHERE hash = ?", &sqlitex.ExecOptions{
		Args: []any{hash[:]},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			repo, repoErr := api.ParseRepo(stmt.ColumnText(0))
			role, roleErr := api.ParseRole(stmt.ColumnText(1))
			code = store.JoinCode{Hash: hash, Repo: repo, Role: role, ExpiresAt: fromMillis(stmt.ColumnInt64(2)), Tries: stmt.ColumnInt(3)}
			found = true
			return errors.Join(repoErr, roleErr)
		},
	})
	return code, found, err
}
