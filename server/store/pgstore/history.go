package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// written returns the number of a repo that was written, or [store.ErrNoRepo].
func (s *Store) written(ctx context.Context, q querier, repo api.Repo) (int64, error) {
	if r, current := s.heads.get(repo); current && r.head.Version > 0 {
		return r.id, nil
	}
	id, err := repoID(ctx, q, repo)
	if err != nil {
		return 0, err
	}
	var was bool
	err = q.QueryRow(ctx, "SELECT EXISTS (SELECT FROM repos WHERE repo = $1 AND name = $2 AND version > 0)", id, repo.String()).Scan(&was)
	if err == nil && !was {
		err = store.ErrNoRepo
	}
	return id, err
}

// Bodies returns the contents with these sums.
func (s *Store) Bodies(ctx context.Context, repo api.Repo, sums []api.Checksum) (map[api.Checksum]string, error) {
	wanted := make([][]byte, len(sums))
	for i := range sums {
		wanted[i] = sums[i][:]
	}
	bodies := make(map[api.Checksum]string, len(sums))
	err := s.read(ctx, func(q querier) error {
		id, err := s.written(ctx, q, repo)
		if err != nil || len(sums) == 0 {
			return err
		}
		bodies, err = s.contents(ctx, q, id, wanted)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading contents of %q: %w", repo, err)
	}
	return bodies, nil
}

const selectVersions = `SELECT v.key, v.version, v.op, v.sum, v.bytes, v.at_ms, v.actor, coalesce(a.actor, ''), v.rules, v.allowed, v.redacted, v.pruned, v.salt
	FROM versions v LEFT JOIN actors a ON a.repo = v.repo AND a.id = v.actor WHERE v.repo = $1 `

// History returns versions, newest first.
func (s *Store) History(ctx context.Context, repo api.Repo, key api.Key, limit int) ([]store.Version, error) {
	var most *int // NULL is all
	if limit > 0 {
		most = &limit
	}
	var versions []store.Version
	err := s.read(ctx, func(q querier) error {
		id, err := s.written(ctx, q, repo)
		if err != nil {
			return err
		}
		query, args := selectVersions+"ORDER BY v.version DESC, v.ordinal LIMIT $2", []any{id, most}
		if !key.IsZero() {
			query, args = selectVersions+"AND v.key = $3 ORDER BY v.version DESC LIMIT $2", []any{id, most, key.String()}
		}
		rows, err := q.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		versions, err = pgx.CollectRows(rows, scanVersion)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading history of %q: %w", repo, err)
	}
	return versions, nil
}

func scanVersion(row pgx.CollectableRow) (v store.Version, err error) {
	var key *string
	var sum, salt []byte
	var at, version int64
	var op, who string
	if err := row.Scan(&key, &version, &op, &sum, &v.Bytes, &at, &v.ActorID, &who, &v.Rules, &v.Allowed, &v.Redacted, &v.Pruned, &salt); err != nil {
		return v, err
	}
	v.Version, v.Op, v.At = uint64(version), store.Op(op), millis(at)
	copy(v.Salt[:], salt)
	if v.Key, err = keyOf(key); err != nil {
		return v, err
	}
	if v.Sum, err = sumOf(sum); err != nil {
		return v, err
	}
	v.Actor, err = readActor(who)
	return v, err
}
