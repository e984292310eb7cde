package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// NewEpoch gives the store a new epoch.
func (s *Store) NewEpoch(ctx context.Context) error {
	if !s.serve {
		return fmt.Errorf("making a new epoch: %w", errNotServing)
	}
	err := s.commit(ctx, notice{version: anything}, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE meta SET value = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '') WHERE name = 'epoch'")
		return err
	})
	s.heads.nextEra()
	if err != nil {
		return fmt.Errorf("making a new epoch: %w", err)
	}
	return nil
}

// prune marks the versions whose content goes, and deletes those contents: all
// that have the content may go. The newest version of a key has no successor and
// so never does.
const prune = `
	WITH gone AS (
		SELECT version, ordinal, sum FROM (
			SELECT version, ordinal, sum, bool_and(old) OVER (PARTITION BY sum) AS all_old FROM (
				SELECT version, ordinal, sum, op, pruned, replaced IS NOT NULL
					AND ($2::bigint = 0 OR replaced < $2) AND ($3::bigint = 0 OR rank > $3) AS old
				FROM (
					SELECT version, ordinal, sum, op, pruned,
						lead(at_ms) OVER (PARTITION BY key ORDER BY version) AS replaced,
						row_number() OVER (PARTITION BY key, op ORDER BY version DESC) AS rank
					FROM versions WHERE repo = $1 AND key IS NOT NULL
				) ranked
			) aged WHERE op = 'put' AND NOT pruned
		) judged WHERE all_old
	), marked AS (
		UPDATE versions v SET pruned = true FROM gone g WHERE v.repo = $1 AND v.version = g.version AND v.ordinal = g.ordinal RETURNING v.sum
	), deleted AS (
		DELETE FROM bodies b WHERE b.repo = $1 AND b.sum IN (SELECT m.sum FROM marked m) RETURNING octet_length(b.content) - CASE WHEN b.data_key = 0 THEN 0 ELSE $4::int END AS n
	)
	SELECT (SELECT count(*) FROM marked), (SELECT count(*) FROM deleted), (SELECT coalesce(sum(n), 0) FROM deleted)`

// Prune takes away the contents of old versions.
func (s *Store) Prune(ctx context.Context, repo api.Repo, r store.Retention, by api.Actor, at time.Time) (done store.Pruned, err error) {
	if !s.serve {
		return done, fmt.Errorf("pruning %q: %w", repo, errNotServing)
	}
	if err = s.read(ctx, func(q querier) error { _, err := s.written(ctx, q, repo); return err }); err == nil && (!r.Before.IsZero() || r.Keep > 0) {
		err = s.inRepo(ctx, repo, func(ctx context.Context, tx pgx.Tx, id int64) error {
			if err := tx.QueryRow(ctx, prune, id, toMillis(r.Before), int64(max(r.Keep, 0)), seal.Overhead).Scan(&done.Versions, &done.Bodies, &done.Bytes); err != nil || done == (store.Pruned{}) {
				return err
			}
			detail := fmt.Sprintf(`{"versions":%d,"bodies":%d,"bytes":%d}`, done.Versions, done.Bodies, done.Bytes)
			return record(ctx, tx, id, store.Event{Action: store.ActionPrune, Actor: by, At: at, Detail: detail})
		})
	}
	if err != nil {
		return store.Pruned{}, fmt.Errorf("pruning %q: %w", repo, err)
	}
	return done, nil
}

// Erase forgets who a person is.
func (s *Store) Erase(ctx context.Context, match func(api.Actor) bool, by api.Actor, at time.Time) (erased int, err error) {
	if !s.serve {
		return 0, fmt.Errorf("erasing a person: %w", errNotServing)
	}
	err = s.commit(ctx, notice{version: anything}, func(ctx context.Context, tx pgx.Tx) (err error) {
		if erased, err = eraseActors(ctx, tx, match); err != nil {
			return err
		}
		event := store.Event{Action: store.ActionErase, Actor: by, At: at, Detail: fmt.Sprintf(`{"actors":%d}`, erased)}
		if err := record(ctx, tx, serverRepo, event); err != nil {
			return err
		}
		_, err = eraseActors(ctx, tx, match) // who erases themselves is entered by that row
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("erasing a person: %w", err)
	}
	return erased, nil
}

func eraseActors(ctx context.Context, tx pgx.Tx, match func(api.Actor) bool) (int, error) {
	rows, err := tx.Query(ctx, "SELECT repo, id, actor FROM actors WHERE actor <> ''")
	if err != nil {
		return 0, err
	}
	var repo int64
	var id, text string
	var repos []int64
	var ids []string
	if _, err := pgx.ForEachRow(rows, []any{&repo, &id, &text}, func() error {
		who, err := readActor(text)
		if err == nil && match(who) {
			repos, ids = append(repos, repo), append(ids, id)
		}
		return err
	}); err != nil || len(ids) == 0 {
		return 0, err
	}
	// What their rows in the chains say beside the digest goes as well.
	return len(ids), each(ctx, tx, []string{
		`UPDATE actors a SET actor = '', digest = NULL FROM unnest($1::bigint[], $2::text[]) AS e (repo, id) WHERE a.repo = e.repo AND a.id = e.id`,
		`UPDATE audit t SET detail = '', salt = NULL FROM unnest($1::bigint[], $2::text[]) AS e (repo, id)
			WHERE t.repo = e.repo AND t.actor = e.id AND t.detail <> ''`,
	}, repos, ids)
}

// scrubPatience is how long a scrub waits for transactions that still see what was
// deleted.
const scrubPatience = 30 * time.Second

var errStillSeen = errors.New("a transaction, a replication slot or a standby still sees deleted rows, so they were not rewritten: end it and scrub again")

// Scrub rewrites every table that can hold a content, an actor or a detail, which
// locks it for as long as that takes, begins a new segment of the write-ahead log
// and asks for a checkpoint. Afterwards no file of a table holds what was deleted
// before, nor do the planner's statistics, which are not kept of these columns. It
// is [store.Keeper]'s promise for the tables; what else keeps a redacted content,
// and for how long, is the operator's to know:
//
//   - the write-ahead log of the primary: with wal_recycle = off nothing, as the
//     checkpoint deletes the segments before it; else until they are overwritten,
//     a matter of max_wal_size and of traffic; and never with a replication slot
//     that nobody reads;
//   - archived log and base backups, until they are deleted by their own rules;
//   - standbys, which replay the rewriting and then have the same tables, and keep
//     their own log as above.
//
// A role without the right to do either leaves that to the server, which
// checkpoints by itself within checkpoint_timeout.
func (s *Store) Scrub(ctx context.Context) error {
	if err := s.scrub(ctx); err != nil {
		return fmt.Errorf("scrubbing the database: %w", err)
	}
	return nil
}

func (s *Store) scrub(ctx context.Context) error {
	if s.isClosed() {
		return errClosed
	}
	if err := s.awaitUnseen(ctx); err != nil {
		return err
	}
	for _, table := range []string{"bodies", "entries", "tombs", "versions", "actors", "audit", "scan_policy", "rescans", "devices"} {
		if _, err := s.pool.Exec(ctx, "VACUUM (FULL) "+table); err != nil {
			return fmt.Errorf("rewriting the table %s: %w", table, err)
		}
	}
	for _, statement := range []string{"SELECT pg_switch_wal()", "CHECKPOINT"} {
		_, err := s.pool.Exec(ctx, statement)
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42501" { // no right to
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitUnseen waits until nobody sees what was deleted before this call: a
// rewriting would keep it for them.
func (s *Store) awaitUnseen(ctx context.Context) error {
	var now string
	if err := s.pool.QueryRow(ctx, "SELECT pg_current_xact_id()::text").Scan(&now); err != nil {
		return err
	}
	for begun := time.Now(); ; {
		var seen bool
		err := s.pool.QueryRow(ctx, `SELECT EXISTS (
			SELECT FROM (
				SELECT backend_xmin AS x FROM pg_stat_activity WHERE pid <> pg_backend_pid()
				UNION ALL SELECT xmin FROM pg_replication_slots UNION ALL SELECT backend_xmin FROM pg_stat_replication
				UNION ALL SELECT transaction FROM pg_prepared_xacts
			) v WHERE age(v.x) > age($1::text::xid8::xid))`, now).Scan(&seen)
		if err != nil || !seen {
			return err
		}
		if time.Since(begun) > scrubPatience {
			return errStillSeen
		}
		if !pause(ctx, lastPause) {
			return ctx.Err()
		}
	}
}
