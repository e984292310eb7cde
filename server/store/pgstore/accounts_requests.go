package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/server/store"
)

const requestColumns = `kind, hash, user_hash, client, account, denied, device, challenge, redirect, family,
	created_ms, expires_ms, polled_ms, interval_ms, tries`

func scanRequest(row pgx.CollectableRow) (r store.Request, err error) {
	var kind string
	var hash, userHash []byte
	var created, expires, polled, interval int64
	if err := row.Scan(&kind, &hash, &userHash, &r.Client, &r.User, &r.Denied, &r.Device, &r.Challenge, &r.Redirect, &r.Family,
		&created, &expires, &polled, &interval, &r.Tries); err != nil {
		return r, err
	}
	r.Kind, r.Interval = store.RequestKind(kind), time.Duration(interval)*time.Millisecond
	r.CreatedAt, r.ExpiresAt, r.PolledAt = fromMillis(created), fromMillis(expires), fromMillis(polled)
	if r.Hash, err = hashOf(hash); err != nil {
		return store.Request{}, err
	}
	if userHash != nil {
		r.UserHash, err = hashOf(userHash)
	}
	return r, err
}

// AddRequest stores a request, and forgets those that expired long ago.
func (s *Store) AddRequest(ctx context.Context, r store.Request) error {
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM sign_ins WHERE expires_ms < $1", toMillis(r.CreatedAt.Add(-store.KeepExpired))); err != nil {
			return err
		}
		return writeRequest(ctx, tx, r)
	})
	if err != nil {
		return fmt.Errorf("storing a sign-in: %w", err)
	}
	return nil
}

func writeRequest(ctx context.Context, tx pgx.Tx, r store.Request) error {
	var userHash []byte // NULL for none: it is unique
	if r.UserHash != [32]byte{} {
		userHash = r.UserHash[:]
	}
	_, err := tx.Exec(ctx, "INSERT INTO sign_ins ("+requestColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
		string(r.Kind), r.Hash[:], userHash, r.Client, r.User, r.Denied, r.Device, r.Challenge, r.Redirect, r.Family,
		toMillis(r.CreatedAt), toMillis(r.ExpiresAt), toMillis(r.PolledAt), r.Interval.Milliseconds(), r.Tries)
	return err
}

// ChangeRequest lets decide answer a request by its secret's hash.
func (s *Store) ChangeRequest(ctx context.Context, kind store.RequestKind, hash [32]byte, decide func(store.Request) (store.RequestChange, error)) error {
	return s.changeRequest(ctx, decide, "kind = $1 AND hash = $2", string(kind), hash[:])
}

// ChangeDevice lets decide answer a request by its typed code's hash.
func (s *Store) ChangeDevice(ctx context.Context, userHash [32]byte, decide func(store.Request) (store.RequestChange, error)) error {
	return s.changeRequest(ctx, decide, "kind = $1 AND user_hash = $2", string(store.DeviceRequest), userHash[:])
}

func (s *Store) changeRequest(ctx context.Context, decide func(store.Request) (store.RequestChange, error), where string, args ...any) error {
	var refusal error
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, "SELECT "+requestColumns+" FROM sign_ins WHERE "+where, args...)
		if err != nil {
			return err
		}
		r, err := pgx.CollectOneRow(rows, scanRequest)
		if errors.Is(err, pgx.ErrNoRows) {
			return store.ErrNoRequest
		}
		if err != nil {
			return err
		}
		var change store.RequestChange
		change, refusal = decide(r)
		return applyRequest(ctx, tx, r, change)
	})
	if err != nil {
		return fmt.Errorf("answering a sign-in: %w", err)
	}
	return refusal
}

func applyRequest(ctx context.Context, tx pgx.Tx, old store.Request, c store.RequestChange) error {
	if c.Request.Hash != [32]byte{} {
		if _, err := tx.Exec(ctx, "DELETE FROM sign_ins WHERE kind = $1 AND hash = $2", string(old.Kind), old.Hash[:]); err != nil {
			return err
		}
		if !c.Request.Done {
			if err := writeRequest(ctx, tx, c.Request); err != nil {
				return err
			}
		}
	}
	if c.Issue.Family.ID == "" {
		return nil
	}
	return addFamily(ctx, tx, c.Issue)
}

// MissDevice counts a wrong typed code.
func (s *Store) MissDevice(ctx context.Context, maxTries int) error {
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		const open = " WHERE kind = 'device' AND account = '' AND denied = false"
		if _, err := tx.Exec(ctx, "UPDATE sign_ins SET tries = tries + 1"+open); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM sign_ins"+open+" AND tries >= $1", maxTries)
		return err
	})
	if err != nil {
		return fmt.Errorf("counting a wrong code: %w", err)
	}
	return nil
}
