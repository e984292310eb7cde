package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/server/store"
)

var errNoUser = errors.New("dropping a user: no id or no time given")

// lockAccounts lets one transaction at a time, of all servers, change people,
// sign-ins and families. They are few, and their decisions look at several rows.
const lockAccounts = "SELECT pg_advisory_xact_lock(hashtextextended('teammemd accounts ' || current_schema(), 0))"

// inAccounts runs a transaction on accounts and credentials.
func (s *Store) inAccounts(ctx context.Context, run func(context.Context, pgx.Tx) error) error {
	return s.commit(ctx, notice{}, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockAccounts); err != nil {
			return err
		}
		return run(ctx, tx)
	})
}

// each runs statements that have the same arguments.
func each(ctx context.Context, tx pgx.Tx, statements []string, args ...any) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement, args...); err != nil {
			return err
		}
	}
	return nil
}

const userColumns = "id, issuer, subject, login, name, email, user_groups, members, upstream, created_ms, seen_ms"

func scanUser(row pgx.CollectableRow) (u store.User, err error) {
	var groups, members string
	var created, seen int64
	if err := row.Scan(&u.ID, &u.Issuer, &u.Subject, &u.Login, &u.Name, &u.Email, &groups, &members, &u.Upstream, &created, &seen); err != nil {
		return u, err
	}
	u.CreatedAt, u.SeenAt = fromMillis(created), fromMillis(seen)
	if err := errors.Join(json.Unmarshal([]byte(groups), &u.Groups), json.Unmarshal([]byte(members), &u.Member)); err != nil {
		return store.User{}, fmt.Errorf("a stored user is damaged: %w", err)
	}
	return u, nil
}

// findUser returns the user that the condition selects, if there is one.
func findUser(ctx context.Context, q querier, where string, args ...any) (u store.User, found bool, err error) {
	rows, err := q.Query(ctx, "SELECT "+userColumns+" FROM users WHERE "+where, args...)
	if err != nil {
		return u, false, err
	}
	u, err = pgx.CollectOneRow(rows, scanUser)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.User{}, false, nil
	}
	return u, err == nil, err
}

// writeUser stores u in place of old, whose identity it keeps. What others look
// at moves the generation, as tokens that are cached may depend on it.
func writeUser(ctx context.Context, tx pgx.Tx, old, u store.User) (store.User, error) {
	if old.ID != "" {
		u.ID, u.Issuer, u.Subject, u.CreatedAt = old.ID, old.Issuer, old.Subject, old.CreatedAt
	}
	u.CreatedAt, u.SeenAt = inMillis(u.CreatedAt), inMillis(u.SeenAt)
	groups, groupsErr := json.Marshal(u.Groups)
	members, membersErr := json.Marshal(u.Member)
	if err := errors.Join(groupsErr, membersErr); err != nil {
		return store.User{}, fmt.Errorf("encoding a user: %w", err)
	}
	_, err := tx.Exec(ctx, "INSERT INTO users ("+userColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (id) DO UPDATE SET login = excluded.login, name = excluded.name, email = excluded.email,
			user_groups = excluded.user_groups, members = excluded.members, upstream = excluded.upstream, seen_ms = excluded.seen_ms`,
		u.ID, u.Issuer, u.Subject, u.Login, u.Name, u.Email, string(groups), string(members), u.Upstream, toMillis(u.CreatedAt), toMillis(u.SeenAt))
	if err == nil && old.ID != "" && looksOther(old, u) {
		err = touchCredentials(ctx, tx)
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
	err = s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		old, found, err := findUser(ctx, tx, "issuer = $1 AND subject = $2", u.Issuer, u.Subject)
		if err != nil {
			return err
		}
		next := u
		if found {
			next.Member = old.Member
		}
		saved, err = writeUser(ctx, tx, old, next)
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
	err = s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		code, found, err := takeCode(ctx, tx, hash, now, maxTries)
		missed = err == nil && !found // the count must be committed, so this is no error yet
		if err != nil || !found {
			return err
		}
		old, known, err := findUser(ctx, tx, "issuer = $1 AND subject = $2", u.Issuer, u.Subject)
		if err != nil {
			return err
		}
		next := u
		if known {
			next.Member, next.Upstream = old.Member, old.Upstream
		}
		next.Member = addMembership(next.Member, store.Membership{Repo: code.Repo, Role: code.Role})
		joined, err = writeUser(ctx, tx, old, next)
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
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		old, found, err := findUser(ctx, tx, "id = $1", id)
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
		_, err = writeUser(ctx, tx, old, next)
		return err
	})
	if err != nil {
		return fmt.Errorf("changing a user: %w", err)
	}
	return refusal
}

// User returns a user by id.
func (s *Store) User(ctx context.Context, id string) (u store.User, err error) {
	err = s.read(ctx, func(q querier) error {
		var found bool
		u, found, err = findUser(ctx, q, "id = $1", id)
		if err == nil && !found {
			err = store.ErrNoUser
		}
		return err
	})
	if err != nil {
		return store.User{}, fmt.Errorf("reading a user: %w", err)
	}
	return u, nil
}

// Users lists all users, oldest first.
func (s *Store) Users(ctx context.Context) (users []store.User, err error) {
	err = s.read(ctx, func(q querier) error {
		rows, err := q.Query(ctx, "SELECT "+userColumns+" FROM users ORDER BY created_ms, id")
		if err != nil {
			return err
		}
		users, err = pgx.CollectRows(rows, scanUser)
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
		return errNoUser
	}
	err := s.inAccounts(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if err := each(ctx, tx, []string{"DELETE FROM users WHERE id = $1", "DELETE FROM sign_ins WHERE account = $1"}, id); err != nil {
			return err
		}
		if err := each(ctx, tx, []string{
			"UPDATE families SET revoked_ms = $2, why = 'user dropped', address = '' WHERE account = $1 AND revoked_ms = 0",
			"UPDATE tokens SET revoked_ms = $2 WHERE account = $1 AND revoked_ms = 0",
		}, id, toMillis(at)); err != nil {
			return err
		}
		return touchCredentials(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("dropping a user: %w", err)
	}
	return nil
}
