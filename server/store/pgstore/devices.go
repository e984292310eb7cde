package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// mergeDevice adds a sighting to what is known. Numbers of another epoch begin
// anew, unless they are of an earlier time than what is there.
const mergeDevice = `
	INSERT INTO devices AS d (repo, id, actor, nameless, first_ms, seen_ms, epoch, pulled, cleaned, cleaned_ms)
	SELECT $1::bigint, $2::bytea, $3::text, $4::boolean, $5::bigint, $6::bigint, $7::text, $8::bigint, $9::bigint, $10::bigint
	WHERE EXISTS (SELECT FROM devices WHERE repo = $1 AND id = $2) OR (SELECT count(*) FROM devices WHERE repo = $1) < $11::bigint
	ON CONFLICT (repo, id) DO UPDATE SET
		actor = excluded.actor, nameless = excluded.nameless,
		first_ms = least(d.first_ms, excluded.first_ms), seen_ms = greatest(d.seen_ms, excluded.seen_ms),
		epoch = excluded.epoch,
		pulled = CASE WHEN d.epoch = excluded.epoch THEN greatest(d.pulled, excluded.pulled) ELSE excluded.pulled END,
		cleaned_ms = CASE WHEN d.epoch = excluded.epoch AND d.cleaned >= excluded.cleaned THEN d.cleaned_ms ELSE excluded.cleaned_ms END,
		cleaned = CASE WHEN d.epoch = excluded.epoch THEN greatest(d.cleaned, excluded.cleaned) ELSE excluded.cleaned END
	WHERE d.epoch = excluded.epoch OR d.seen_ms <= excluded.seen_ms`

// RecordDevices adds what was seen of devices: one transaction for each repo, for
// several repos may be on several nodes. It is no change that anybody waits for,
// so the outbox does not hear of it, and an outcome that was lost is the caller's
// to ignore: the same again changes nothing.
func (s *Store) RecordDevices(ctx context.Context, seen map[api.Repo][]store.Device) error {
	var failed []error
	for repo, devices := range seen {
		err := s.read(ctx, func(querier) error { // merging twice is merging once: it may be tried again as a read may
			return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.recordDevices(ctx, tx, repo, devices) })
		})
		if err != nil && !errors.Is(err, store.ErrNoRepo) {
			failed = append(failed, fmt.Errorf("recording devices of %q: %w", repo, err))
		}
	}
	return errors.Join(failed...)
}

func (s *Store) recordDevices(ctx context.Context, tx pgx.Tx, repo api.Repo, devices []store.Device) error {
	// No standby has to confirm a sighting: the next one says the same again.
	if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = local"); err != nil {
		return err
	}
	id, err := repoID(ctx, tx, repo)
	if err != nil {
		return err
	}
	locked, err := tx.Exec(ctx, "SELECT FROM repos WHERE repo = $1 AND name = $2 AND version > 0 FOR NO KEY UPDATE", id, repo.String())
	if err != nil || locked.RowsAffected() == 0 {
		return err
	}
	for _, d := range devices {
		actor, err := pseudonym(ctx, tx, id, d.Actor)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, mergeDevice, id, d.ID[:], actor, d.Nameless, toMillis(d.First), toMillis(d.Seen),
			d.Epoch, int64(d.Pulled), int64(d.Cleaned), toMillis(d.CleanedAt), store.MaxDevices); err != nil {
			return err
		}
	}
	return nil
}

// Devices lists those of a repo.
func (s *Store) Devices(ctx context.Context, repo api.Repo) (devices []store.Device, err error) {
	err = s.read(ctx, func(q querier) error {
		id, err := namedID(ctx, q, repo)
		if errors.Is(err, store.ErrNoRepo) {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := q.Query(ctx, `SELECT d.id, d.nameless, d.first_ms, d.seen_ms, d.epoch, d.pulled, d.cleaned, d.cleaned_ms, coalesce(a.actor, '')
			FROM devices d LEFT JOIN actors a ON a.repo = d.repo AND a.id = d.actor WHERE d.repo = $1 ORDER BY d.id`, id)
		if err != nil {
			return err
		}
		devices, err = pgx.CollectRows(rows, scanDevice)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the devices of %q: %w", repo, err)
	}
	return devices, nil
}

func scanDevice(row pgx.CollectableRow) (d store.Device, err error) {
	var id []byte
	var first, seen, pulled, cleaned, cleanedAt int64
	var actor string
	if err := row.Scan(&id, &d.Nameless, &first, &seen, &d.Epoch, &pulled, &cleaned, &cleanedAt, &actor); err != nil {
		return d, err
	}
	copy(d.ID[:], id)
	d.First, d.Seen, d.CleanedAt = fromMillis(first), fromMillis(seen), fromMillis(cleanedAt)
	d.Pulled, d.Cleaned = uint64(pulled), uint64(cleaned)
	d.Actor, err = readActor(actor)
	return d, err
}

// ForgetDevices drops those that nobody saw since before.
func (s *Store) ForgetDevices(ctx context.Context, before time.Time) (dropped int, err error) {
	err = s.read(ctx, func(querier) error { // dropping twice is dropping once
		done, err := s.pool.Exec(ctx, "DELETE FROM devices WHERE seen_ms < $1", toMillis(before))
		dropped = int(done.RowsAffected())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forgetting devices: %w", err)
	}
	return dropped, nil
}
