package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// inRepo runs a transaction that has a repo's row locked, and makes the row where
// there is none: what is kept beside entries does not need any. An update of this
// process waits for it at the row.
func (s *Store) inRepo(ctx context.Context, repo api.Repo, run func(ctx context.Context, tx pgx.Tx, id int64) error) error {
	for range maxTries {
		id, err := s.repoOrNew(ctx, repo)
		if err != nil {
			return err
		}
		err = s.commit(ctx, notice{repo: id, name: repo.String(), version: beside}, func(ctx context.Context, tx pgx.Tx) error {
			locked, err := tx.Exec(ctx, "SELECT FROM repos WHERE repo = $1 AND name = $2 FOR NO KEY UPDATE", id, repo.String())
			if err != nil {
				return err
			}
			if locked.RowsAffected() == 0 {
				return errMoved
			}
			return run(ctx, tx, id)
		})
		if !errors.Is(err, errMoved) {
			return err
		}
	}
	return errMoved
}

// errMoved says that a name was given to other data meanwhile: look again.
var errMoved = errors.New("the repo's name stands for other data now")

func (s *Store) repoOrNew(ctx context.Context, repo api.Repo) (id int64, err error) {
	find := func(q querier) error {
		id, err = namedID(ctx, q, repo)
		return err
	}
	if err := s.read(ctx, find); !errors.Is(err, store.ErrNoRepo) {
		return id, err
	}
	if err := s.create(ctx, repo); err != nil {
		return 0, err
	}
	return id, s.read(ctx, find)
}

// Policy returns a repo's policy.
func (s *Store) Policy(ctx context.Context, repo api.Repo) (p store.Policy, err error) {
	err = s.read(ctx, func(q querier) error {
		id, err := namedID(ctx, q, repo)
		if errors.Is(err, store.ErrNoRepo) {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := q.Query(ctx, `SELECT p.id, p.rule, p.keys, p.reason, coalesce(a.actor, ''), p.at_ms, p.expires_ms, p.ended_ms, coalesce(b.actor, '')
			FROM scan_policy p LEFT JOIN actors a ON a.repo = p.repo AND a.id = p.actor
			LEFT JOIN actors b ON b.repo = p.repo AND b.id = p.ended_by WHERE p.repo = $1 ORDER BY p.number`, id)
		if err != nil {
			return err
		}
		p.Entries, err = pgx.CollectRows(rows, scanEntry)
		return err
	})
	if err != nil {
		return store.Policy{}, fmt.Errorf("reading the scan policy of %q: %w", repo, err)
	}
	for _, e := range p.Entries { // each entry is a change, and so is its end
		p.Revision++
		if !e.EndedAt.IsZero() {
			p.Revision++
		}
	}
	return p, nil
}

func scanEntry(row pgx.CollectableRow) (e api.PolicyEntry, err error) {
	var actor, endedBy string
	var at, expires, ended int64
	if err := row.Scan(&e.ID, &e.Rule, &e.Keys, &e.Reason, &actor, &at, &expires, &ended, &endedBy); err != nil {
		return e, err
	}
	e.At, e.ExpiresAt, e.EndedAt = fromMillis(at), fromMillis(expires), fromMillis(ended)
	var endErr error
	e.Actor, err = readActor(actor)
	e.EndedBy, endErr = readActor(endedBy)
	return e, errors.Join(err, endErr)
}

// pseudonym returns an actor's in a repo whose row is locked.
func pseudonym(ctx context.Context, tx pgx.Tx, repo int64, by api.Actor) (id string, err error) {
	a, err := newActor(repo, by)
	if err != nil {
		return "", err
	}
	err = tx.QueryRow(ctx, "SELECT teammemd_actor($1, $2, $3, $4)", repo, a.id, a.digest[:], a.text).Scan(&id)
	return id, err
}

// AddPolicyEntry stores an entry and ends the one in whose place it is.
func (s *Store) AddPolicyEntry(ctx context.Context, repo api.Repo, e api.PolicyEntry) error {
	err := s.inRepo(ctx, repo, func(ctx context.Context, tx pgx.Tx, id int64) error {
		actor, err := pseudonym(ctx, tx, id, e.Actor)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "UPDATE scan_policy SET ended_ms = $1, ended_by = $2 WHERE repo = $3 AND rule = $4 AND keys = $5 AND ended_ms = 0",
			toMillis(e.At), actor, id, e.Rule, e.Keys); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO scan_policy (repo, number, id, rule, keys, reason, actor, at_ms, expires_ms)
			SELECT $1, coalesce(max(number), 0) + 1, $2, $3, $4, $5, $6, $7, $8 FROM scan_policy WHERE repo = $1`,
			id, e.ID, e.Rule, e.Keys, e.Reason, actor, toMillis(e.At), toMillis(e.ExpiresAt))
		return err
	})
	if err != nil {
		return fmt.Errorf("storing an entry of the scan policy of %q: %w", repo, err)
	}
	return nil
}

// EndPolicyEntry ends an entry.
func (s *Store) EndPolicyEntry(ctx context.Context, repo api.Repo, entry string, at time.Time, by api.Actor) error {
	err := s.inRepo(ctx, repo, func(ctx context.Context, tx pgx.Tx, id int64) error {
		actor, err := pseudonym(ctx, tx, id, by)
		if err != nil {
			return err
		}
		done, err := tx.Exec(ctx, "UPDATE scan_policy SET ended_ms = $1, ended_by = $2 WHERE repo = $3 AND id = $4 AND ended_ms = 0",
			toMillis(at), actor, id, entry)
		if err == nil && done.RowsAffected() == 0 {
			err = store.ErrNoEntry
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ending an entry of the scan policy of %q: %w", repo, err)
	}
	return nil
}

// Repos lists the repos that were ever written.
func (s *Store) Repos(ctx context.Context) (repos []api.Repo, err error) {
	err = s.read(ctx, func(q querier) error {
		rows, err := q.Query(ctx, "SELECT name FROM repos WHERE version > 0 ORDER BY name")
		if err != nil {
			return err
		}
		repos, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (api.Repo, error) {
			var name string
			if err := row.Scan(&name); err != nil {
				return api.Repo{}, err
			}
			return api.ParseRepo(name)
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing repos: %w", err)
	}
	return repos, nil
}

// Rescan returns what was last recorded of a repo.
func (s *Store) Rescan(ctx context.Context, repo api.Repo) (r store.Rescan, err error) {
	var marks string
	var at int64
	err = s.read(ctx, func(q querier) error {
		id, err := namedID(ctx, q, repo)
		if err == nil {
			err = q.QueryRow(ctx, "SELECT rules, at_ms, marks FROM rescans WHERE repo = $1", id).Scan(&r.Rules, &at, &marks)
		}
		if errors.Is(err, store.ErrNoRepo) || errors.Is(err, pgx.ErrNoRows) {
			marks = "null"
			return nil
		}
		return err
	})
	if err == nil {
		r.At = fromMillis(at)
		err = json.Unmarshal([]byte(marks), &r.Marks)
	}
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
	err = s.inRepo(ctx, repo, func(ctx context.Context, tx pgx.Tx, id int64) error {
		_, err := tx.Exec(ctx, `INSERT INTO rescans (repo, rules, at_ms, marks) VALUES ($1, $2, $3, $4)
			ON CONFLICT (repo) DO UPDATE SET rules = excluded.rules, at_ms = excluded.at_ms, marks = excluded.marks`,
			id, r.Rules, toMillis(r.At), string(marks))
		return err
	})
	if err != nil {
		return fmt.Errorf("recording what was found in %q: %w", repo, err)
	}
	return nil
}
