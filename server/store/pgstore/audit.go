package pgstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// serverRepo is the number under which the server's own chain is kept.
const serverRepo int64 = 0

// Audit adds a row to a chain. It may be called beside a server that runs.
func (s *Store) Audit(ctx context.Context, repo api.Repo, e store.Event) error {
	add := func(ctx context.Context, tx pgx.Tx, id int64) error { return record(ctx, tx, id, e) }
	var err error
	if repo.IsZero() {
		err = s.commit(ctx, notice{}, func(ctx context.Context, tx pgx.Tx) error { return add(ctx, tx, serverRepo) })
	} else {
		err = s.inRepo(ctx, repo, add)
	}
	if err != nil {
		return fmt.Errorf("auditing %q of %q: %w", e.Action, repo, err)
	}
	return nil
}

// record adds a row that no version belongs to, inside a transaction.
func record(ctx context.Context, tx pgx.Tx, repo int64, e store.Event) error {
	who, err := newActor(repo, e.Actor)
	if err != nil {
		return err
	}
	p := newAuditPart(e.Action, e.Detail)
	_, err = tx.Exec(ctx, "SELECT teammemd_audit($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		repo, who.id, who.digest[:], who.text, p.action, e.At.UnixMilli(), p.storedSalt(), p.detail, p.digest[:])
	return err
}

const selectTrail = `SELECT t.number, t.action, t.actor, coalesce(a.actor, ''), t.at_ms, t.version, t.salt, t.detail, t.digest, t.seals, t.hash,
	CASE WHEN t.version > 0 THEN ARRAY(SELECT v.key FROM versions v
		WHERE v.repo = t.repo AND v.version = t.version AND NOT v.redacted ORDER BY v.ordinal) END
	FROM audit t LEFT JOIN actors a ON a.repo = t.repo AND a.id = t.actor WHERE t.repo = $1 AND t.number > $2 ORDER BY t.number LIMIT $3`

// Trail returns the rows of a chain.
func (s *Store) Trail(ctx context.Context, repo api.Repo, after uint64, limit int) (trail []store.AuditRow, err error) {
	var most *int // NULL is all
	if limit > 0 {
		most = &limit
	}
	err = s.read(ctx, func(q querier) error {
		id := serverRepo
		if !repo.IsZero() {
			var err error
			if id, err = namedID(ctx, q, repo); errors.Is(err, store.ErrNoRepo) {
				return nil
			} else if err != nil {
				return err
			}
		}
		rows, err := q.Query(ctx, selectTrail, id, int64(after), most)
		if err != nil {
			return err
		}
		trail, err = pgx.CollectRows(rows, scanAudit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the chain of %q: %w", repo, err)
	}
	return trail, nil
}

func scanAudit(row pgx.CollectableRow) (r store.AuditRow, err error) {
	var number, at, version int64
	var who string
	var salt, digest, seals, hash []byte
	var keys []string
	if err := row.Scan(&number, &r.Action, &r.ActorID, &who, &at, &version, &salt, &r.Detail, &digest, &seals, &hash, &keys); err != nil {
		return r, err
	}
	r.Number, r.Version = uint64(number), uint64(version)
	r.At = millis(at)
	copy(r.Salt[:], salt)
	for into, stored := range map[*[32]byte][]byte{&r.Digest: digest, &r.Seals: seals, &r.Hash: hash} {
		if *into, err = hashOf(stored); err != nil {
			return r, err
		}
	}
	for _, name := range keys {
		key, err := api.ParseKey(name)
		if err != nil {
			return r, err
		}
		r.Keys = append(r.Keys, key)
	}
	r.Actor, err = readActor(who)
	return r, err
}
