package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

const (
	// rewrapBatch is how many data keys are read at once to be wrapped again, and
	// resealBatch how many contents one transaction seals.
	rewrapBatch = 500
	resealBatch = 100
)

// rotation is one call of RotateKeys.
type rotation struct {
	*Store

	done     store.Rotation
	progress func(store.Rotation)
}

// RotateKeys wraps data keys again, and with data seals every content with a new
// one, while servers go on. They must have this key file, all of it. At its end
// [Store.Scrub] rewrites the tables, which locks each for as long as that takes.
func (s *Store) RotateKeys(ctx context.Context, data bool, progress func(store.Rotation)) (store.Rotation, error) {
	r := rotation{Store: s, progress: progress}
	if r.progress == nil {
		r.progress = func(store.Rotation) {}
	}
	if err := r.run(ctx, data); err != nil {
		return r.done, fmt.Errorf("changing keys: %w", err)
	}
	return r.done, nil
}

func (r *rotation) run(ctx context.Context, data bool) error {
	switch {
	case !r.serve:
		return errNotServing
	case r.seals.keys == nil:
		return errNoKeyFile
	}
	if err := r.rewrap(ctx); err != nil || !data {
		return err
	}
	if err := r.exec(ctx, "UPDATE data_rotation SET generation = generation + 1, under_way = true WHERE NOT under_way"); err != nil {
		return err
	}
	var generation int64
	if err := r.pool.QueryRow(ctx, "SELECT generation FROM data_rotation").Scan(&generation); err != nil {
		return err
	}
	rows, err := r.pool.Query(ctx, "SELECT repo FROM repos WHERE version > 0 ORDER BY repo")
	if err != nil {
		return err
	}
	repos, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return err
	}
	for _, repo := range repos {
		if err := r.reseal(ctx, repo, generation); err != nil {
			return fmt.Errorf("repo number %d: %w", repo, err)
		}
	}
	// What was plain is in dead rows until then.
	if err := r.scrub(ctx); err != nil {
		return err
	}
	return r.exec(ctx, "UPDATE data_rotation SET under_way = false")
}

// exec runs a statement that may run twice.
func (r *rotation) exec(ctx context.Context, query string, args ...any) error {
	return retry(ctx, r.patience, func() error {
		_, err := r.pool.Exec(ctx, query, args...)
		return err
	})
}

// rewrap wraps every data key under the first master key.
func (r *rotation) rewrap(ctx context.Context) error {
	for {
		keys, err := storedKeys(ctx, r.pool, "WHERE master <> $1 LIMIT $2", r.seals.keys.First(), rewrapBatch)
		if err != nil || len(keys) == 0 {
			return err
		}
		for _, k := range keys {
			w, err := r.seals.keys.Rewrap(k.repo, k.number, k.Wrapped)
			if err != nil {
				return err
			}
			if err := r.exec(ctx, "UPDATE data_keys SET master = $4, wrapped = $5 WHERE repo = $1 AND number = $2 AND master = $3",
				k.repo, k.number, k.Master, w.Master, w.Sealed); err != nil {
				return err
			}
			r.done.Wrapped++
		}
		r.progress(r.done)
	}
}

// reseal gives a repo a data key of this rotation, unless it has one, seals its
// contents with it, and drops those before: nothing is written under them since.
func (r *rotation) reseal(ctx context.Context, repo, generation int64) error {
	key, err := r.keyOfRotation(ctx, repo, generation)
	if err != nil {
		return err
	}
	r.progress(r.done)
	for after := []byte{}; after != nil; {
		if after, err = r.resealSome(ctx, repo, key, after); err != nil {
			return err
		}
		r.progress(r.done)
	}
	return r.exec(ctx, `DELETE FROM data_keys k WHERE k.repo = $1 AND k.number < $2
		AND NOT EXISTS (SELECT FROM bodies b WHERE b.repo = k.repo AND b.data_key = k.number)`, repo, key.Number())
}

func (r *rotation) keyOfRotation(ctx context.Context, repo, generation int64) (*seal.DataKey, error) {
	for {
		newest, err := r.newestKey(ctx, repo)
		if err != nil {
			return nil, err
		}
		if newest.number > 0 && newest.generation >= generation {
			return r.seals.unwrap(newest)
		}
		var version int64
		if err := r.pool.QueryRow(ctx, "SELECT version FROM repos WHERE repo = $1", repo).Scan(&version); err != nil {
			return nil, err
		}
		if err := r.makeKey(ctx, repo, newest.number+1, version); err != nil {
			return nil, err
		}
		r.seals.ring.Doubt(repo)
		r.done.Made++
	}
}

// resealSome seals the contents after a checksum that are not sealed with key, one
// batch of them, and returns the last checksum, nil where that was all. What
// another process does with a row meanwhile counts.
func (r *rotation) resealSome(ctx context.Context, repo int64, key *seal.DataKey, after []byte) (last []byte, err error) {
	var n int64
	err = retry(ctx, r.patience, func() error {
		found, err := r.pool.Query(ctx, "SELECT "+contentColumns+" FROM bodies WHERE repo = $1 AND sum > $2 AND data_key <> $3 ORDER BY sum LIMIT $4",
			repo, after, key.Number(), resealBatch)
		if err != nil {
			return err
		}
		rows, err := pgx.CollectRows(found, scanContent)
		if err != nil || len(rows) == 0 {
			return err
		}
		if last = nil; len(rows) == resealBatch {
			last = rows[len(rows)-1].sum[:]
		}
		texts, err := r.seals.openAll(ctx, r.pool, repo, rows)
		if err != nil {
			return err
		}
		sums, sealed, before := make([][]byte, len(rows)), make([][]byte, len(rows)), make([]int64, len(rows))
		for i := range rows {
			sums[i], sealed[i], before[i] = rows[i].sum[:], key.Seal(rows[i].sum, texts[i]), rows[i].key
		}
		tag, err := r.pool.Exec(ctx, `UPDATE bodies b SET content = u.content, data_key = $2
			FROM unnest($3::bytea[], $4::bytea[], $5::bigint[]) AS u (sum, content, before)
			WHERE b.repo = $1 AND b.sum = u.sum AND b.data_key = u.before`, repo, key.Number(), sums, sealed, before)
		n = tag.RowsAffected()
		return err
	})
	r.done.Contents += n
	return last, err
}
