package sqlitestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
)

const userColumns = "id, issuer, subject, login, name, email, user_groups, members, upstream, created_ms, seen_ms"

func scanUser(stmt *sqlite.Stmt) (store.User, error) {
	u := store.User{
		ID: stmt.ColumnText(0), Issuer: stmt.ColumnText(1), Subject: stmt.ColumnText(2), Login: stmt.ColumnText(3),
		Name: stmt.ColumnText(4), Email: stmt.ColumnText(5), CreatedAt: fromMillis(stmt.ColumnInt64(9)), SeenAt: fromMillis(stmt.ColumnInt64(10)),
	}
	if !stmt.ColumnIsNull(8) {
		u.Upstream = make([]byte, stmt.ColumnLen(8))
		stmt.ColumnBytes(8, u.Upstream)
	}
	err := errors.Join(json.Unmarshal([]byte(stmt.ColumnText(6)), &u.Groups), json.Unmarshal([]byte(stmt.ColumnText(7)), &u.Member))
	if err != nil {
		return store.User{}, fmt.Errorf("a stored user is damaged: %w", err)
	}
	return u, nil
}

// findUser returns the user that the condition selects, if there is one.
func findUser(conn *sqlite.Conn, where string, args ...any) (u store.User, found bool, err error) {
	err = sqlitex.Execute(conn, "SELECT "+userColumns+" FROM users WHERE "+where, &sqlitex.ExecOptions{Args: args, ResultFunc: func(stmt *sqlite.Stmt) (err error) {
		found = true
		u, err = scanUser(stmt)
		return err
	}})
	return u, found, err
}

// writeUser stores u in place of old, whose identity it keeps. What others look
// at moves the generation, as tokens that are cached may depend on it.
func writeUser(conn *sqlite.Conn, old, u store.User) (store.User, error) {
	if old.ID != "" {
		u.ID, u.Issuer, u.Subject, u.CreatedAt = old.ID, old.Issuer, old.Subject, old.CreatedAt
	}
	u.CreatedAt, u.SeenAt = inMillis(u.CreatedAt), inMillis(u.SeenAt)
	groups, groupsErr := json.Marshal(u.Groups)
	members, membersErr := json.Marshal(u.Member)
	if err := errors.Join(groupsErr, membersErr); err != nil {
		return store.User{}, fmt.Errorf("encoding a user: %w", err)
	}
	var upstream any // NULL for nil
	if u.Upstream != nil {
		upstream = u.Upstream
	}
	err := exec(conn, "INSERT INTO users ("+userColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET login = excluded.login, name = excluded.name, email = excluded.email,
			user_groups = excluded.user_groups, members = excluded.members, upstream = excluded.upstream, seen_ms = excluded.seen_ms`,
		u.ID, u.Issuer, u.Subject, u.Login, u.Name, u.Email, string(groups), string(members), upstream, toMillis(u.CreatedAt), toMillis(u.SeenAt))
	if err == nil && old.ID != "" && looksOther(old, u) {
		err = touchCredentials(conn)
	}
	return u, err
}

func looksOther(a, b store.User) bool {
	return a.Login != b.Login || a.Name != b.Name || a.Email != b.Email || !slices.Equal(a.Groups, b.Groups) || !slices.Equal(a.Member, b.Member)
}

// inMillis is t as it will be read back.
func inMillis(t time.Time) time.Time { return fromMillis(toMillis(t)) }

// SaveUser stores a user by issuer and subject.
func (s *Store) SaveUser(ctx context.Context, u store.User) (saved store.User, err error) {
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		old, found, err := findUser(conn, "issuer = ? AND subject = ?", u.Issuer, u.Subject)
		if err != nil {
			return err
		}
		if found {
			u.Member = old.Member
		}
		saved, err = writeUser(conn, old, u)
		return err
	})
	if err != nil {
		return store.User{}, fmt.Errorf("storing a user: %w", err)
	}
	return saved, nil
}

// JoinUser takes a join code away and gives what it gives to a user.
func (s *Store) JoinUser(ctx context.Context, hash [32]byte, now time.Time, maxTries int, u store.User) (joined store.User, err error) {
	missed := false
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		code, found, err := takeCode(conn, hash, now, maxTries)
		if err != nil || !found {
			missed = !found // the count must be committed, so this is no error yet
			return err
		}
		old, known, err := findUser(conn, "issuer = ? AND subject = ?", u.Issuer, u.Subject)
		if err != nil {
			return err
		}
		next := u
		if known {
			next.Member = old.Member
			next.Upstream = old.Upstream
		}
		next.Member = addMembership(next.Member, store.Membership{Repo: code.Repo, Role: code.Role})
		joined, err = writeUser(conn, old, next)
		return err
	})
	if err == nil && missed {
		err = store.ErrNoCredential
	}
	if err != nil {
		return store.User{}, fmt.Errorf("redeeming a join code for a user: %w", err)
	}
	return joined, nil
}

// takeCode deletes the live code with this hash, or counts a wrong try against
// all that live.
func takeCode(conn *sqlite.Conn, hash [32]byte, now time.Time, maxTries int) (code store.JoinCode, found bool, err error) {
	if err := exec(conn, "DELETE FROM join_codes WHERE expires_ms <= ?", toMillis(now)); err != nil {
		return code, false, err
	}
	if code, found, err = findCode(conn, hash); err != nil {
		return code, false, err
	}
	if found {
		return code, true, exec(conn, "DELETE FROM join_codes WHERE hash = ?", hash[:])
	}
	if err := exec(conn, "UPDATE join_codes SET tries = tries + 1"); err != nil {
		return code, false, err
	}
	return code, false, exec(conn, "DELETE FROM join_codes WHERE tries >= ?", maxTries)
}

// addMembership returns members with one more; the stronger role in a repo counts.
func addMembership(members []store.Membership, m store.Membership) []store.Membership {
	members = slices.Clone(members)
	i := slices.IndexFunc(members, func(have store.Membership) bool { return have.Repo == m.Repo })
	if i < 0 {
		return append(members, m)
	}
	members[i].Role = max(members[i].Role, m.Role)
	return members
}

// ChangeUser stores what decide makes of a user.
func (s *Store) ChangeUser(ctx context.Context, id string, decide func(store.User) (store.User, error)) error {
	var refusal error
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		old, found, err := findUser(conn, "id = ?", id)
		if err != nil {
			return err
		}
		if !found {
			return store.ErrNoUser
		}
		next, err := decide(old)
		refusal = err
		if next.ID == "" {
			return nil
		}
		_, err = writeUser(conn, old, next)
		return err
	})
	if err != nil {
		return fmt.Errorf("changing a user: %w", err)
	}
	return refusal
}

// User returns a user by id.
func (s *Store) User(ctx context.Context, id string) (store.User, error) {
	users, err := s.users(ctx, "WHERE id = ?", id)
	if err != nil {
		return store.User{}, err
	}
	if len(users) == 0 {
		return store.User{}, store.ErrNoUser
	}
	return users[0], nil
}

// Users lists all users, oldest first.
func (s *Store) Users(ctx context.Context) ([]store.User, error) {
	return s.users(ctx, "ORDER BY created_ms, id")
}

func (s *Store) users(ctx context.Context, rest string, args ...any) (users []store.User, err error) {
	err = s.read(ctx, "SELECT "+userColumns+" FROM users "+rest, args, func(stmt *sqlite.Stmt) error {
		u, err := scanUser(stmt)
		users = append(users, u)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading users: %w", err)
	}
	return users, nil
}

// DropUser deletes a user and revokes what is theirs.
func (s *Store) DropUser(ctx context.Context, id string, at time.Time) error {
	if id == "" || toMillis(at) == 0 {
		return errors.New("dropping a user: no id or no time given")
	}
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		for _, drop := range []string{"DELETE FROM users WHERE id = ?", "DELETE FROM sign_ins WHERE user = ?"} {
			if err := exec(conn, drop, id); err != nil {
				return err
			}
		}
		if err := exec(conn, "UPDATE families SET revoked_ms = ?, why = 'user dropped', address = '' WHERE user = ? AND revoked_ms = 0", toMillis(at), id); err != nil {
			return err
		}
		if err := exec(conn, "UPDATE tokens SET revoked_ms = ? WHERE user = ? AND revoked_ms = 0", toMillis(at), id); err != nil {
			return err
		}
		return touchCredentials(conn)
	})
	if err != nil {
		return fmt.Errorf("dropping a user: %w", err)
	}
	return nil
}
