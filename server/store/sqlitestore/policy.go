package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Policy returns a repo's policy.
func (s *Store) Policy(ctx context.Context, repo api.Repo) (store.Policy, error) {
	var p store.Policy
	err := s.read(ctx, `SELECT p.id, p.rule, p.keys, p.reason, p.at_ms, p.expires_ms, p.ended_ms, `+actorColumns+`,
		b.token, b.account, b.person, b.device, b.agent, b.session
		FROM repos r JOIN scan_policy p ON p.repo = r.id
		LEFT JOIN actors a ON (a.repo, a.number) = (p.repo, p.actor) LEFT JOIN actors b ON (b.repo, b.number) = (p.repo, p.ended_by)
		WHERE r.name = ? ORDER BY p.number`, []any{repo.String()}, func(stmt *sqlite.Stmt) error {
		e := scanEntry(stmt)
		p.Entries = append(p.Entries, e)
		p.Revision++ // each entry is a change, and so is its end
		if !e.EndedAt.IsZero() {
			p.Revision++
		}
		return nil
	})
	if err != nil {
		return store.Policy{}, fmt.Errorf("reading the scan policy of %q: %w", repo, err)
	}
	return p, nil
}

func scanEntry(stmt *sqlite.Stmt) api.PolicyEntry {
	return api.PolicyEntry{
		ID: stmt.ColumnText(0), Rule: stmt.ColumnText(1), Keys: stmt.ColumnText(2), Reason: stmt.ColumnText(3),
		At: fromMillis(stmt.ColumnInt64(4)), ExpiresAt: fromMillis(stmt.ColumnInt64(5)), EndedAt: fromMillis(stmt.ColumnInt64(6)),
		Actor: scanActor(stmt, 7), EndedBy: scanActor(stmt, 13),
	}
}

// AddPolicyEntry stores an entry and ends the one in whose place it is.
func (s *Store) AddPolicyEntry(ctx context.Context, repo api.Repo, e api.PolicyEntry) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		id, err := makeRepo(conn, repo)
		if err != nil {
			return err
		}
		actor, err := s.actor(id, e.Actor)
		if err != nil {
			return err
		}
		if err := exec(conn, "UPDATE scan_policy SET ended_ms = ?, ended_by = ? WHERE repo = ? AND rule = ? AND keys = ? AND ended_ms = 0",
			toMillis(e.At), actor.number, id, e.Rule, e.Keys); err != nil {
			return err
		}
		return exec(conn, "INSERT INTO scan_policy (repo, id, rule, keys, reason, actor, at_ms, expires_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			id, e.ID, e.Rule, e.Keys, e.Reason, actor.number, toMillis(e.At), toMillis(e.ExpiresAt))
	})
	if err != nil {
		return fmt.Errorf("storing an entry of the scan policy of %q: %w", repo, err)
	}
	return nil
}

// EndPolicyEntry ends an entry.
func (s *Store) EndPolicyEntry(ctx context.Context, repo api.Repo, id string, at time.Time, by api.Actor) error {
	err := s.write(ctx, func(conn *sqlite.Conn) error {
		number, found, err := findRepo(conn, repo)
		if err != nil {
			return err
		}
		if !found {
			return store.ErrNoEntry
		}
		actor, err := s.actor(number, by)
		if err != nil {
			return err
		}
		if err := exec(conn, "UPDATE scan_policy SET ended_ms = ?, ended_by = ? WHERE repo = ? AND id = ? AND ended_ms = 0",
			toMillis(at), actor.number, number, id); err != nil {
			return err
		}
		if conn.Changes() == 0 {
			return store.ErrNoEntry
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("ending an entry of the scan policy of %q: %w", repo, err)
	}
	return nil
}

// Repos lists the repos that were ever written.
func (s *Store) Repos(ctx context.Context) ([]api.Repo, error) {
	var repos []api.Repo
	err := s.read(ctx, "SELECT name FROM repos WHERE version > 0 ORDER BY name", nil, func(stmt *sqlite.Stmt) error {
		repo, err := api.ParseRepo(stmt.ColumnText(0))
		repos = append(repos, repo)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing repos: %w", err)
	}
	return repos, nil
}

// Rescan returns what was last recorded of a repo.
func (s *Store) Rescan(ctx context.Context, repo api.Repo) (store.Rescan, error) {
	var r store.Rescan
	err := s.read(ctx, "SELECT s.rules, s.at_ms, s.marks FROM repos r JOIN rescans s ON s.repo = r.id WHERE r.name = ?", []any{repo.String()}, func(stmt *sqlite.Stmt) error {
		r.Rules, r.At = stmt.ColumnText(0), fromMillis(stmt.ColumnInt64(1))
		return json.Unmarshal([]byte(stmt.ColumnText(2)), &r.Marks)
	})
	if err != nil {
		return store.Rescan{}, fmt.Errorf("reading what was found in %q: %w", repo, err)
	}
	return r, nil
}

// RecordRescan replaces what is recorded of a repo.
func (s *Store) RecordRescan(ctx context.Context, repo api.Repo, r store.Rescan) error {
	marks, err := json.Marshal(r.Marks)
	if err != nil {
		return fmt.Errorf("encoding marks: %w", err)
	}
	err = s.write(ctx, func(conn *sqlite.Conn) error {
		id, err := makeRepo(conn, repo)
		if err != nil {
			return err
		}
		return exec(conn, `INSERT INTO rescans (repo, rules, at_ms, marks) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET rules = excluded.rules, at_ms = excluded.at_ms, marks = excluded.marks`,
			id, r.Rules, toMillis(r.At), string(marks))
	})
	if err != nil {
		return fmt.Errorf("recording what was found in %q: %w", repo, err)
	}
	return nil
}
