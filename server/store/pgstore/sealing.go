package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// sealer is what a store knows of keys.
type sealer struct {
	keys    *seal.Keys // nil: nothing is sealed
	ring    seal.Ring
	lacking atomic.Bool // a data key was met that cannot be unwrapped
}

var (
	_ store.Sealed = (*Store)(nil)

	errNoKeyFile = fmt.Errorf("%w: no key file is named", seal.ErrNoKey)
	errKeyGone   = fmt.Errorf("its data key is gone: %w", seal.ErrDamaged)
	errSealing   = fmt.Errorf("%w: the database is encrypted since this server began", seal.ErrNoKey)
)

// storedKey is a row of data_keys.
type storedKey struct {
	seal.Wrapped

	repo, number, since, generation int64
}

const selectKeys = "SELECT repo, number, since, generation, master, wrapped FROM data_keys "

func storedKeys(ctx context.Context, q querier, where string, args ...any) ([]storedKey, error) {
	rows, err := q.Query(ctx, selectKeys+where, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (k storedKey, err error) {
		return k, row.Scan(&k.repo, &k.number, &k.since, &k.generation, &k.Master, &k.Sealed)
	})
}

// unwrap opens a data key and keeps it; it remembers if its master key is missing.
func (e *sealer) unwrap(k storedKey) (*seal.DataKey, error) {
	key, err := e.keys.Unwrap(k.repo, k.number, k.Wrapped)
	if errors.Is(err, seal.ErrNoKey) {
		e.lacking.Store(true)
	}
	if err == nil {
		e.ring.Put(k.repo, key)
	}
	return key, err
}

// need makes sure that some data keys of a repo are in memory. One that is gone is
// [errKeyGone].
func (e *sealer) need(ctx context.Context, q querier, repo int64, numbers ...int64) (map[int64]*seal.DataKey, error) {
	have := make(map[int64]*seal.DataKey, len(numbers))
	var lacks []int64
	for _, number := range numbers {
		if key := e.ring.Get(repo, number); key != nil {
			have[number] = key
		} else {
			lacks = append(lacks, number)
		}
	}
	if len(lacks) == 0 {
		return have, nil
	}
	found, err := storedKeys(ctx, q, "WHERE repo = $1 AND number = ANY ($2)", repo, lacks)
	if err != nil {
		return nil, err
	}
	for _, k := range found {
		if have[k.number], err = e.unwrap(k); err != nil {
			return nil, err
		}
	}
	if len(have) < len(numbers) {
		return nil, errKeyGone
	}
	return have, nil
}

// content is a row of bodies.
type content struct {
	sum  api.Checksum
	text []byte // sealed where key is not 0
	key  int64
}

func scanContent(row pgx.CollectableRow) (c content, err error) {
	var sum []byte
	if err := row.Scan(&sum, &c.text, &c.key); err != nil {
		return c, err
	}
	c.sum, err = sumOf(sum)
	return c, err
}

const contentColumns = "sum, content, data_key"

// openAll returns the texts of rows of one repo.
func (e *sealer) openAll(ctx context.Context, q querier, repo int64, rows []content) ([]string, error) {
	var numbers []int64
	for i := range rows {
		if n := rows[i].key; n != 0 && !slices.Contains(numbers, n) {
			numbers = append(numbers, n)
		}
	}
	keys, err := e.need(ctx, q, repo, numbers...)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(rows))
	for i, c := range rows {
		if c.key == 0 {
			texts[i], err = e.keys.Plain(c.sum, string(c.text))
		} else {
			texts[i], err = keys[c.key].Open(c.sum, c.text)
		}
		if err != nil {
			return nil, fmt.Errorf("content %s: %w", c.sum, err)
		}
	}
	return texts, nil
}

// readTries is how often contents are read whose data key went meanwhile: a
// rotation sealed them with another.
const readTries = 3

// contents reads texts of a repo.
func (s *Store) contents(ctx context.Context, q querier, repo int64, sums [][]byte) (map[api.Checksum]string, error) {
	for try := 1; ; try++ {
		found, err := q.Query(ctx, "SELECT "+contentColumns+" FROM bodies WHERE repo = $1 AND sum = ANY ($2)", repo, sums)
		if err != nil {
			return nil, err
		}
		rows, err := pgx.CollectRows(found, scanContent)
		if err != nil {
			return nil, err
		}
		texts, err := s.seals.openAll(ctx, q, repo, rows)
		if errors.Is(err, errKeyGone) && try < readTries {
			continue
		}
		if err != nil {
			return nil, err
		}
		bodies := make(map[api.Checksum]string, len(rows))
		for i := range rows {
			bodies[rows[i].sum] = texts[i]
		}
		return bodies, nil
	}
}

// sealing returns the key that seals what a version of a repo puts, nil where
// nothing is sealed. It makes one where there is none that may; no transaction of
// the caller's may have the repo's row.
func (s *Store) sealing(ctx context.Context, repo int64, version uint64) (*seal.DataKey, error) {
	e := &s.seals
	if n := e.ring.Newest(repo); n.DataKey != nil && !seal.Spent(n.Since, version) {
		return n.DataKey, nil
	}
	if e.keys == nil {
		return nil, nil //nolint:nilnil // nil is a key that does nothing
	}
	for {
		newest, err := s.newestKey(ctx, repo)
		if err != nil {
			return nil, err
		}
		if newest.number == 0 || seal.Spent(uint64(newest.since), version) {
			if err := s.makeKey(ctx, repo, newest.number+1, int64(version)); err != nil {
				return nil, err
			}
			continue // whoever made it, what is there counts
		}
		key, err := e.unwrap(newest)
		if err == nil {
			e.ring.SetNewest(repo, seal.Newest{DataKey: key, Since: uint64(newest.since)})
		}
		return key, err
	}
}

// outdated is told that a change was refused that was sealed for a repo with key,
// maybe because it is not the newest any more.
func (s *Store) outdated(ctx context.Context, repo int64, key *seal.DataKey) error {
	s.seals.ring.Doubt(repo)
	if key != nil || s.seals.keys != nil {
		return nil
	}
	newest, err := s.newestKey(ctx, repo)
	if err == nil && newest.number > 0 {
		s.seals.lacking.Store(true)
		err = errSealing
	}
	return err
}

// newestKey returns the data key of a repo that seals; its number is 0 for none.
func (s *Store) newestKey(ctx context.Context, repo int64) (k storedKey, err error) {
	err = retry(ctx, s.patience, func() error {
		found, err := storedKeys(ctx, s.pool, "WHERE repo = $1 ORDER BY number DESC LIMIT 1", repo)
		if err == nil && len(found) > 0 {
			k = found[0]
		}
		return err
	})
	return k, err
}

// makeKey enters a data key, unless somebody entered one of that number. It takes
// the repo's row, as every change does, so that no change under way is under the
// key before.
func (s *Store) makeKey(ctx context.Context, repo, number, since int64) error {
	_, wrapped, err := s.seals.keys.NewDataKey(repo, number)
	if err != nil {
		return err
	}
	return retry(ctx, s.patience, func() error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SELECT FROM repos WHERE repo = $1 FOR NO KEY UPDATE", repo); err != nil {
				return err
			}
			var generation int64
			if err := tx.QueryRow(ctx, "SELECT generation FROM data_rotation").Scan(&generation); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO data_keys (repo, number, since, generation, master, wrapped) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
				repo, number, since, generation, wrapped.Master, wrapped.Sealed)
			return err
		})
	})
}

// Sealing counts how contents are kept.
func (s *Store) Sealing(ctx context.Context) (n store.Sealing, err error) {
	err = s.read(ctx, func(q querier) error {
		if err := q.QueryRow(ctx, "SELECT count(*) FILTER (WHERE data_key = 0), count(*) FILTER (WHERE data_key <> 0) FROM bodies").Scan(&n.Plain, &n.Sealed); err != nil {
			return err
		}
		return q.QueryRow(ctx, "SELECT count(*) FROM data_keys").Scan(&n.Keys)
	})
	if err != nil {
		err = fmt.Errorf("counting contents: %w", err)
	}
	return n, err
}

// KeysReady says whether the data keys can be unwrapped.
func (s *Store) KeysReady(ctx context.Context) error {
	if !s.seals.lacking.Load() {
		return nil
	}
	err := s.checkKeys(ctx)
	s.seals.lacking.Store(err != nil)
	return err
}

// checkKeys unwraps one data key for each master key that any is wrapped under.
func (s *Store) checkKeys(ctx context.Context) error {
	return s.read(ctx, func(q querier) error {
		rows, err := q.Query(ctx, "SELECT DISTINCT master FROM data_keys ORDER BY master")
		if err != nil {
			return err
		}
		masters, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, master := range masters {
			some, err := storedKeys(ctx, q, "WHERE master = $1 LIMIT 1", master)
			if err != nil {
				return err
			}
			for _, k := range some {
				if _, err := s.seals.keys.Unwrap(k.repo, k.number, k.Wrapped); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
