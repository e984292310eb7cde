package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
)

var errNoWhen = errors.New("revoking a family of tokens: no time given")

const familyColumns = "id, user, client, device, generation, proven, created_ms, rotated_ms, expires_ms, revoked_ms, why, address"

func scanFamily(stmt *sqlite.Stmt) store.Family {
	return store.Family{
		ID: stmt.ColumnText(0), User: stmt.ColumnText(1), Client: stmt.ColumnText(2), Device: stmt.ColumnText(3),
		Generation: uint64(stmt.ColumnInt64(4)), Proven: uint64(stmt.ColumnInt64(5)),
		CreatedAt: fromMillis(stmt.ColumnInt64(6)), RotatedAt: fromMillis(stmt.ColumnInt64(7)), ExpiresAt: fromMillis(stmt.ColumnInt64(8)),
		RevokedAt: fromMillis(stmt.ColumnInt64(9)), Why: stmt.ColumnText(10), Address: stmt.ColumnText(11),
	}
}

// AddFamily stores a family with its first tokens.
func (s *Store) AddFamily(ctx context.Context, i store.Issue) error {
	if err := s.write(ctx, func(conn *sqlite.Conn) error { return addFamily(conn, i) }); err != nil {
		return fmt.Errorf("storing a family of tokens: %w", err)
	}
	return nil
}

func addFamily(conn *sqlite.Conn, i store.Issue) error {
	f := i.Family
	if err := dropExpired(conn, f.CreatedAt.Add(-store.KeepExpired)); err != nil {
		return err
	}
	err := exec(conn, "INSERT INTO families ("+familyColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		f.ID, f.User, f.Client, f.Device, int64(f.Generation), int64(f.Proven),
		toMillis(f.CreatedAt), toMillis(f.RotatedAt), toMillis(f.ExpiresAt), toMillis(f.RevokedAt), f.Why, f.Address)
	if err != nil {
		return err
	}
	return addTokens(conn, i)
}

// dropExpired forgets families that ended before a time.
func dropExpired(conn *sqlite.Conn, before time.Time) error {
	for _, table := range []string{"refresh_tokens", "tokens"} {
		err := exec(conn, "DELETE FROM "+table+" WHERE family IN (SELECT id FROM families WHERE expires_ms < ?) AND family <> ''", toMillis(before))
		if err != nil {
			return err
		}
	}
	return exec(conn, "DELETE FROM families WHERE expires_ms < ?", toMillis(before))
}

// addTokens writes the tokens of an issue.
func addTokens(conn *sqlite.Conn, i store.Issue) error {
	if i.Refresh != [32]byte{} {
		err := exec(conn, "INSERT INTO refresh_tokens (hash, family, generation, spent_ms) VALUES (?, ?, ?, 0)", i.Refresh[:], i.Family.ID, int64(i.Family.Generation))
		if err != nil {
			return err
		}
	}
	if i.Access.ID == "" {
		return nil
	}
	t := i.Access
	t.User, t.Family, t.Generation = i.Family.User, i.Family.ID, i.Family.Generation
	return writeToken(conn, t)
}

// ChangeFamily lets decide answer a refresh token.
func (s *Store) ChangeFamily(ctx context.Context, refresh [32]byte, decide func(store.Family, store.Refresh) (store.Issue, error)) error {
	var refusal error
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		found := false
		var f store.Family
		var presented store.Refresh
		err := sqlitex.Execute(conn, "SELECT f.id, f.user, f.client, f.device, f.generation, f.proven, f.created_ms, f.rotated_ms, f.expires_ms, f.revoked_ms, f.why, f.address, r.generation, r.spent_ms"+
			" FROM refresh_tokens r JOIN families f ON f.id = r.family WHERE r.hash = ?", &sqlitex.ExecOptions{Args: []any{refresh[:]}, ResultFunc: func(stmt *sqlite.Stmt) error {
			found = true
			f = scanFamily(stmt)
			presented = store.Refresh{Generation: uint64(stmt.ColumnInt64(12)), SpentAt: fromMillis(stmt.ColumnInt64(13))}
			return nil
		}})
		if err != nil {
			return err
		}
		if !found {
			return store.ErrNoFamily
		}
		var issue store.Issue
		issue, refusal = decide(f, presented)
		if issue.Family.ID == "" {
			return nil
		}
		return applyFamily(conn, f, issue)
	})
	if err != nil {
		return fmt.Errorf("changing a family of tokens: %w", err)
	}
	return refusal
}

// applyFamily stores what became of the family old.
func applyFamily(conn *sqlite.Conn, old store.Family, i store.Issue) error {
	f := i.Family
	f.ID, f.User = old.ID, old.User
	err := exec(conn, "UPDATE families SET generation = ?, proven = ?, rotated_ms = ?, expires_ms = ?, address = ? WHERE id = ?",
		int64(f.Generation), int64(f.Proven), toMillis(f.RotatedAt), toMillis(f.ExpiresAt), f.Address, f.ID)
	if err != nil {
		return err
	}
	if f.Generation > old.Generation {
		if err := spend(conn, f); err != nil {
			return err
		}
	}
	if err := addTokens(conn, store.Issue{Family: f, Refresh: i.Refresh, Access: i.Access}); err != nil {
		return err
	}
	if old.RevokedAt.IsZero() && !f.RevokedAt.IsZero() {
		return revokeFamily(conn, f.ID, f.Why, f.RevokedAt)
	}
	return nil
}

// spend marks the tokens before the newest generation, and forgets what nobody
// has to know any more.
func spend(conn *sqlite.Conn, f store.Family) error {
	at := f.RotatedAt
	if err := exec(conn, "UPDATE refresh_tokens SET spent_ms = ? WHERE family = ? AND spent_ms = 0", toMillis(at), f.ID); err != nil {
		return err
	}
	err := exec(conn, "DELETE FROM refresh_tokens WHERE family = ? AND spent_ms > 0 AND spent_ms < ?", f.ID, toMillis(at.Add(-store.KeepSpent)))
	if err != nil {
		return err
	}
	return exec(conn, "DELETE FROM tokens WHERE family = ? AND family <> '' AND expires_ms < ?", f.ID, toMillis(at.Add(-store.KeepExpired)))
}

// revokeFamily ends a family and its access tokens.
func revokeFamily(conn *sqlite.Conn, id, why string, at time.Time) error {
	if toMillis(at) == 0 {
		return errNoWhen // 0 is stored for "live"
	}
	if err := exec(conn, "UPDATE families SET revoked_ms = ?, why = ?, address = '' WHERE id = ? AND revoked_ms = 0", toMillis(at), why, id); err != nil {
		return err
	}
	if conn.Changes() == 0 {
		return nil
	}
	if err := exec(conn, "UPDATE tokens SET revoked_ms = ? WHERE family = ? AND family <> '' AND revoked_ms = 0", toMillis(at), id); err != nil {
		return err
	}
	return touchCredentials(conn)
}

// Families lists the live families of a user, or of all.
func (s *Store) Families(ctx context.Context, user string) (families []store.Family, err error) {
	err = s.read(ctx, "SELECT "+familyColumns+" FROM families WHERE revoked_ms = 0 AND (user = ?1 OR ?1 = '') ORDER BY created_ms, id", []any{user}, func(stmt *sqlite.Stmt) error {
		families = append(families, scanFamily(stmt))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing families of tokens: %w", err)
	}
	return families, nil
}

// RevokeFamily ends a family and its access tokens.
func (s *Store) RevokeFamily(ctx context.Context, id, why string, at time.Time) error {
	if err := s.write(ctx, func(conn *sqlite.Conn) error { return revokeFamily(conn, id, why, at) }); err != nil {
		return fmt.Errorf("revoking a family of tokens: %w", err)
	}
	return nil
}

// UseToken records the first use of an access token.
func (s *Store) UseToken(ctx context.Context, id string, at time.Time) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		if err := exec(conn, "UPDATE tokens SET used_ms = ? WHERE id = ? AND family <> '' AND used_ms = 0", toMillis(at), id); err != nil {
			return err
		}
		return exec(conn, `UPDATE families SET proven = max(proven, t.generation) FROM (SELECT family, generation FROM tokens WHERE id = ?) t
			WHERE families.id = t.family`, id)
	})
	if err != nil {
		return fmt.Errorf("recording the use of a token: %w", err)
	}
	return nil
}
