package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/server/store"
)

var errNoWhen = errors.New("revoking a family of tokens: no time given")

const familyColumns = "id, account, client, device, generation, proven, created_ms, rotated_ms, expires_ms, revoked_ms, why, address"

func scanFamily(row pgx.CollectableRow) (f store.Family, err error) {
	f, _, err = scanPresented(row)
	return f, err
}

// scanPresented reads a family, and the columns of a refresh token where the query
// has them.
func scanPresented(row pgx.CollectableRow) (f store.Family, r store.Refresh, err error) {
	var created, rotated, expires, revoked, spent int64
	into := []any{&f.ID, &f.User, &f.Client, &f.Device, &f.Generation, &f.Proven, &created, &rotated, &expires, &revoked, &f.Why, &f.Address}
	if len(row.FieldDescriptions()) > len(into) {
		into = append(into, &r.Generation, &spent)
	}
	err = row.Scan(into...)
	f.CreatedAt, f.RotatedAt, f.ExpiresAt, f.RevokedAt = fromMillis(created), fromMillis(rotated), fromMillis(expires), fromMillis(revoked)
	r.SpentAt = fromMillis(spent)
	return f, r, err
}

// AddFamily stores a family with its first tokens.
func (s *Store) AddFamily(ctx context.Context, i store.Issue) error {
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error { return addFamily(ctx, tx, i) })
	if err != nil {
		return fmt.Errorf("storing a family of tokens: %w", err)
	}
	return nil
}

func addFamily(ctx context.Context, tx pgx.Tx, i store.Issue) error {
	f := i.Family
	if err := dropExpired(ctx, tx, f.CreatedAt.Add(-store.KeepExpired)); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO families ("+familyColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
		f.ID, f.User, f.Client, f.Device, int64(f.Generation), int64(f.Proven),
		toMillis(f.CreatedAt), toMillis(f.RotatedAt), toMillis(f.ExpiresAt), toMillis(f.RevokedAt), f.Why, f.Address)
	if err != nil {
		return err
	}
	return addTokens(ctx, tx, i)
}

// dropExpired forgets families that ended before a time.
func dropExpired(ctx context.Context, tx pgx.Tx, before time.Time) error {
	return each(ctx, tx, []string{
		"DELETE FROM refresh_tokens WHERE family IN (SELECT id FROM families WHERE expires_ms < $1)",
		"DELETE FROM tokens WHERE family <> '' AND family IN (SELECT id FROM families WHERE expires_ms < $1)",
		"DELETE FROM families WHERE expires_ms < $1",
	}, toMillis(before))
}

// addTokens writes the tokens of an issue.
func addTokens(ctx context.Context, tx pgx.Tx, i store.Issue) error {
	if i.Refresh != [32]byte{} {
		_, err := tx.Exec(ctx, "INSERT INTO refresh_tokens (hash, family, generation, spent_ms) VALUES ($1, $2, $3, 0)",
			i.Refresh[:], i.Family.ID, int64(i.Family.Generation))
		if err != nil {
			return err
		}
	}
	if i.Access.ID == "" {
		return nil
	}
	t := i.Access
	t.User, t.Family, t.Generation = i.Family.User, i.Family.ID, i.Family.Generation
	return insertToken(ctx, tx, t)
}

// ChangeFamily lets decide answer a refresh token.
func (s *Store) ChangeFamily(ctx context.Context, refresh [32]byte, decide func(store.Family, store.Refresh) (store.Issue, error)) error {
	var refusal error
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT f.id, f.account, f.client, f.device, f.generation, f.proven, f.created_ms, f.rotated_ms,
				f.expires_ms, f.revoked_ms, f.why, f.address, r.generation, r.spent_ms
			FROM refresh_tokens r JOIN families f ON f.id = r.family WHERE r.hash = $1`, refresh[:])
		if err != nil {
			return err
		}
		var presented store.Refresh
		f, err := pgx.CollectOneRow(rows, func(row pgx.CollectableRow) (f store.Family, err error) {
			f, presented, err = scanPresented(row)
			return f, err
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return store.ErrNoFamily
		}
		if err != nil {
			return err
		}
		var issue store.Issue
		issue, refusal = decide(f, presented)
		if issue.Family.ID == "" {
			return nil
		}
		return applyFamily(ctx, tx, f, issue)
	})
	if err != nil {
		return fmt.Errorf("changing a family of tokens: %w", err)
	}
	return refusal
}

// applyFamily stores what became of the family old.
func applyFamily(ctx context.Context, tx pgx.Tx, old store.Family, i store.Issue) error {
	f := i.Family
	f.ID, f.User = old.ID, old.User
	_, err := tx.Exec(ctx, "UPDATE families SET generation = $1, proven = $2, rotated_ms = $3, expires_ms = $4, address = $5 WHERE id = $6",
		int64(f.Generation), int64(f.Proven), toMillis(f.RotatedAt), toMillis(f.ExpiresAt), f.Address, f.ID)
	if err != nil {
		return err
	}
	if f.Generation > old.Generation {
		if err := spend(ctx, tx, f); err != nil {
			return err
		}
	}
	if err := addTokens(ctx, tx, store.Issue{Family: f, Refresh: i.Refresh, Access: i.Access}); err != nil {
		return err
	}
	if old.RevokedAt.IsZero() && !f.RevokedAt.IsZero() {
		return revokeFamily(ctx, tx, f.ID, f.Why, f.RevokedAt)
	}
	return nil
}

// spend marks the tokens before the newest generation, and forgets what nobody
// has to know any more.
func spend(ctx context.Context, tx pgx.Tx, f store.Family) error {
	at := f.RotatedAt
	if _, err := tx.Exec(ctx, "UPDATE refresh_tokens SET spent_ms = $2 WHERE family = $1 AND spent_ms = 0", f.ID, toMillis(at)); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "DELETE FROM refresh_tokens WHERE family = $1 AND spent_ms > 0 AND spent_ms < $2", f.ID, toMillis(at.Add(-store.KeepSpent))); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "DELETE FROM tokens WHERE family = $1 AND family <> '' AND expires_ms < $2", f.ID, toMillis(at.Add(-store.KeepExpired)))
	return err
}

// revokeFamily ends a family and its access tokens.
func revokeFamily(ctx context.Context, tx pgx.Tx, id, why string, at time.Time) error {
	if toMillis(at) == 0 {
		return errNoWhen // 0 is stored for "live"
	}
	done, err := tx.Exec(ctx, "UPDATE families SET revoked_ms = $2, why = $3, address = '' WHERE id = $1 AND revoked_ms = 0", id, toMillis(at), why)
	if err != nil || done.RowsAffected() == 0 {
		return err
	}
	if _, err := tx.Exec(ctx, "UPDATE tokens SET revoked_ms = $2 WHERE family = $1 AND family <> '' AND revoked_ms = 0", id, toMillis(at)); err != nil {
		return err
	}
	return touchCredentials(ctx, tx)
}

// Families lists the live families of a user, or of all.
func (s *Store) Families(ctx context.Context, user string) (families []store.Family, err error) {
	err = s.read(ctx, func(q querier) error {
		rows, err := q.Query(ctx, "SELECT "+familyColumns+" FROM families WHERE revoked_ms = 0 AND (account = $1 OR $1 = '') ORDER BY created_ms, id", user)
		if err != nil {
			return err
		}
		families, err = pgx.CollectRows(rows, scanFamily)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing families of tokens: %w", err)
	}
	return families, nil
}

// RevokeFamily ends a family and its access tokens.
func (s *Store) RevokeFamily(ctx context.Context, id, why string, at time.Time) error {
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error { return revokeFamily(ctx, tx, id, why, at) })
	if err != nil {
		return fmt.Errorf("revoking a family of tokens: %w", err)
	}
	return nil
}

// UseToken records the first use of an access token.
func (s *Store) UseToken(ctx context.Context, id string, at time.Time) error {
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE tokens SET used_ms = $2 WHERE id = $1 AND family <> '' AND used_ms = 0", id, toMillis(at)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE families SET proven = greatest(proven, t.generation) FROM (SELECT family, generation FROM tokens WHERE id = $1) t
			WHERE families.id = t.family`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("recording the use of a token: %w", err)
	}
	return nil
}
