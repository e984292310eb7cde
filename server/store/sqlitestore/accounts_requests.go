package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
)

const requestColumns = `kind, hash, user_hash, client, user, denied, device, challenge, redirect, family,
	created_ms, expires_ms, polled_ms, interval_ms, tries`

func scanRequest(stmt *sqlite.Stmt) (r store.Request, err error) {
	r = store.Request{
		Kind: store.RequestKind(stmt.ColumnText(0)), Client: stmt.ColumnText(3), User: stmt.ColumnText(4), Denied: stmt.ColumnBool(5),
		Device: stmt.ColumnText(6), Challenge: stmt.ColumnText(7), Redirect: stmt.ColumnText(8), Family: stmt.ColumnText(9),
		CreatedAt: fromMillis(stmt.ColumnInt64(10)), ExpiresAt: fromMillis(stmt.ColumnInt64(11)), PolledAt: fromMillis(stmt.ColumnInt64(12)),
		Interval: time.Duration(stmt.ColumnInt64(13)) * time.Millisecond, Tries: stmt.ColumnInt(14),
	}
	if r.Hash, err = columnSum(stmt, 1); err != nil {
		return store.Request{}, err
	}
	if !stmt.ColumnIsNull(2) {
		r.UserHash, err = columnSum(stmt, 2)
	}
	return r, err
}

// AddRequest stores a request, and forgets those that expired long ago.
func (s *Store) AddRequest(ctx context.Context, r store.Request) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := exec(conn, "DELETE FROM sign_ins WHERE expires_ms < ?", toMillis(r.CreatedAt.Add(-store.KeepExpired))); err != nil {
			return err
		}
		return writeRequest(conn, r)
	})
	if err != nil {
		return fmt.Errorf("storing a sign-in: %w", err)
	}
	return nil
}

func writeRequest(conn *sqlite.Conn, r store.Request) error {
	var userHash any // NULL for none: it is unique
	if r.UserHash != [32]byte{} {
		userHash = r.UserHash[:]
	}
	return exec(conn, "INSERT INTO sign_ins ("+requestColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		string(r.Kind), r.Hash[:], userHash, r.Client, r.User, r.Denied, r.Device, r.Challenge, r.Redirect, r.Family,
		toMillis(r.CreatedAt), toMillis(r.ExpiresAt), toMillis(r.PolledAt), r.Interval.Milliseconds(), r.Tries)
}

// ChangeRequest lets decide answer a request by its secret's hash.
func (s *Store) ChangeRequest(ctx context.Context, kind store.RequestKind, hash [32]byte, decide func(store.Request) (store.RequestChange, error)) error {
	return s.changeRequest(ctx, decide, "kind = ? AND hash = ?", string(kind), hash[:])
}

// ChangeDevice lets decide answer a request by its typed code's hash.
func (s *Store) ChangeDevice(ctx context.Context, userHash [32]byte, decide func(store.Request) (store.RequestChange, error)) error {
	return s.changeRequest(ctx, decide, "kind = ? AND user_hash = ?", string(store.DeviceRequest), userHash[:])
}

func (s *Store) changeRequest(ctx context.Context, decide func(store.Request) (store.RequestChange, error), where string, args ...any) error {
	var refusal error
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		found := false
		var r store.Request
		err := sqlitex.Execute(conn, "SELECT "+requestColumns+" FROM sign_ins WHERE "+where, &sqlitex.ExecOptions{Args: args, ResultFunc: func(stmt *sqlite.Stmt) (err error) {
			found = true
			r, err = scanRequest(stmt)
			return err
		}})
		if err != nil {
			return err
		}
		if !found {
			return store.ErrNoRequest
		}
		var change store.RequestChange
		change, refusal = decide(r)
		return applyRequest(conn, r, change)
	})
	if err != nil {
		return fmt.Errorf("answering a sign-in: %w", err)
	}
	return refusal
}

func applyRequest(conn *sqlite.Conn, old store.Request, c store.RequestChange) error {
	if c.Request.Hash != [32]byte{} {
		if err := exec(conn, "DELETE FROM sign_ins WHERE kind = ? AND hash = ?", string(old.Kind), old.Hash[:]); err != nil {
			return err
		}
		if !c.Request.Done {
			if err := writeRequest(conn, c.Request); err != nil {
				return err
			}
		}
	}
	if c.Issue.Family.ID == "" {
		return nil
	}
	return addFamily(conn, c.Issue)
}

// MissDevice counts a wrong typed code.
func (s *Store) MissDevice(ctx context.Context, maxTries int) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		const open = " WHERE kind = 'device' AND user = '' AND denied = 0"
		if err := exec(conn, "UPDATE sign_ins SET tries = tries + 1"+open); err != nil {
			return err
		}
		return exec(conn, "DELETE FROM sign_ins"+open+" AND tries >= ?", maxTries)
	})
	if err != nil {
		return fmt.Errorf("counting a wrong code: %w", err)
	}
	return nil
}
