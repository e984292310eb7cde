package pgstore

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
)

// checkChain follows the chain from its beginning and returns the rows that made
// versions, by version.
func (r *checkedRepo) checkChain(ctx context.Context, tx pgx.Tx) (made map[uint64]store.AuditRow, err error) {
	rows, err := tx.Query(ctx, selectTrail, r.id, 0, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	made = make(map[uint64]store.AuditRow)
	var before store.AuditRow
	last := uint64(0)
	for rows.Next() {
		row, err := scanAudit(rows)
		if err != nil {
			r.problem(api.Key{}, "audit row %d: %v", before.Number+1, err)
			return made, nil
		}
		if row.Number != before.Number+1 {
			r.problem(api.Key{}, "audit row %d follows row %d", row.Number, before.Number)
		}
		if row.Chain(before.Hash) != row.Hash {
			r.problem(api.Key{}, "audit row %d: its hash is not that of the chain", row.Number)
		}
		// What was taken away of a row leaves its digest.
		if gone := row.Salt == [16]byte{} && row.Detail == ""; !gone && row.Digest != store.DigestDetail(row.Salt, row.Detail) {
			r.problem(api.Key{}, "audit row %d: its digest is not that of its detail", row.Number)
		}
		if row.Version > 0 {
			if row.Version != last+1 {
				r.problem(api.Key{}, "audit row %d: version %d follows version %d", row.Number, row.Version, last)
			}
			last = row.Version
			row.Detail = "" // may be long
			made[row.Version] = row
		}
		before = row
	}
	if int64(before.Number) != r.number || !bytes.Equal(before.Hash[:], r.hash) {
		r.problem(api.Key{}, "the chain ends at row %d, its repo says %d, or the hashes differ", before.Number, r.number)
	}
	if int64(last) != r.version {
		r.problem(api.Key{}, "the repo has version %d, its chain %d", r.version, last)
	}
	if row, ok := made[last]; ok && row.At.UnixMilli() != r.modified {
		r.problem(api.Key{}, "the repo's last change is not at the time of the chain's")
	}
	return made, rows.Err()
}

// checkVersions checks the history against the rows that made it, and finds what
// the head must be.
func (r *checkedRepo) checkVersions(ctx context.Context, tx pgx.Tx, made map[uint64]store.AuditRow) error {
	ledger, err := tx.Query(ctx, "SELECT sum FROM redactions WHERE repo = $1", r.id)
	if err != nil {
		return err
	}
	var stored []byte
	if _, err := pgx.ForEachRow(ledger, []any{&stored}, func() error {
		sum, err := sumOf(stored)
		if err != nil || sum.IsZero() {
			r.problem(api.Key{}, "the ledger of redactions has a checksum that is none")
			return nil //nolint:nilerr // it is told
		}
		r.ledger[sum] = true
		return nil
	}); err != nil {
		return err
	}
	seals, err := tx.Query(ctx, "SELECT version, seal FROM versions WHERE repo = $1 ORDER BY version, ordinal", r.id)
	if err != nil {
		return err
	}
	of := make(map[uint64][][32]byte)
	var version uint64
	if _, err := pgx.ForEachRow(seals, []any{&version, &stored}, func() error {
		seal, err := hashOf(stored)
		of[version] = append(of[version], seal)
		return err
	}); err != nil {
		return err
	}
	for version, row := range made {
		if store.SealAll(of[version]) != row.Seals {
			r.problem(api.Key{}, "version %d: its seals are not those of the chain", version)
		}
	}
	return r.checkEach(ctx, tx, made, of)
}

// checkEach checks each version by itself.
func (r *checkedRepo) checkEach(ctx context.Context, tx pgx.Tx, made map[uint64]store.AuditRow, seals map[uint64][][32]byte) error {
	rows, err := tx.Query(ctx, selectVersions+"ORDER BY v.version, v.ordinal", r.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	at, ordinal := uint64(0), 0
	for rows.Next() {
		v, err := scanVersion(rows)
		if err != nil {
			r.problem(v.Key, "version %d: %v", v.Version, err)
			continue
		}
		if v.Version != at {
			at, ordinal = v.Version, 0
		}
		seal := seals[v.Version][ordinal]
		ordinal++
		row, known := made[v.Version]
		switch {
		case !known:
			r.problem(v.Key, "version %d is not in the chain", v.Version)
		case row.ActorID != v.ActorID || !row.At.Equal(v.At):
			r.problem(v.Key, "version %d: its actor or time is not that of the chain", v.Version)
		}
		r.checkVersion(&v, seal)
	}
	return rows.Err()
}

// checkVersion checks one version and takes it into what the head must be.
func (r *checkedRepo) checkVersion(v *store.Version, seal [32]byte) {
	if v.Redacted {
		if !v.Sum.IsZero() || !v.Key.IsZero() || v.Bytes != 0 || v.Allowed != "" || v.Salt != [16]byte{} {
			r.problem(api.Key{}, "version %d was redacted and tells of its content", v.Version)
		}
		return
	}
	if v.Seal() != seal {
		r.problem(v.Key, "version %d: its seal is not its own", v.Version)
	}
	switch {
	case v.Op == store.OpPut && v.Sum.IsZero(), v.Op == store.OpRetire && !v.Sum.IsZero():
		r.problem(v.Key, "version %d: a checksum too many or too few", v.Version)
	case v.Op != store.OpPut && v.Op != store.OpRetire:
		r.problem(v.Key, "version %d: its operation is unknown", v.Version)
	case r.ledger[v.Sum]:
		r.problem(v.Key, "version %d has a content that was redacted", v.Version)
	case v.Op == store.OpPut && !v.Pruned:
		r.kept[v.Sum] = true
	}
	r.live[v.Key] = *v // they come oldest first
}

// checkHead compares entries and tombstones with the newest versions.
func (r *checkedRepo) checkHead(ctx context.Context, tx pgx.Tx) error {
	head, err := readHead(ctx, tx, selectHead, r.id, r.repo.String())
	if err != nil {
		r.problem(api.Key{}, "the head: %v", err)
		return nil // reading goes on with the next repo
	}
	for _, it := range head.Items {
		v, known := r.live[it.Key]
		switch {
		case !known || v.Op != store.OpPut:
			r.problem(it.Key, "the entry is live, the history says that it is not")
		case v.Pruned:
			r.problem(it.Key, "the entry is live, its content was pruned")
		case v.Sum != it.Sum || v.Bytes != it.Bytes || v.Version != it.Version || !v.At.Equal(it.Modified) || v.Allowed != it.Allowed:
			r.problem(it.Key, "the entry is not what version %d made of it", v.Version)
		}
		delete(r.live, it.Key)
	}
	for _, t := range head.Tombs {
		if v, known := r.live[t.Key]; !known || v.Op != store.OpRetire || v.Version != t.Version {
			r.problem(t.Key, "the key is retired, the history says that it is not, or when")
		}
		delete(r.live, t.Key)
	}
	for key := range r.live {
		r.problem(key, "the key is in the history and neither live nor retired")
	}
	return nil
}

// checkBodies opens every content and computes its checksum.
func (r *checkedRepo) checkBodies(ctx context.Context, tx pgx.Tx) error {
	// The connection is busy while contents are read: all keys come first.
	keys, err := r.dataKeys(ctx, tx)
	if err != nil {
		return err
	}
	rows, err := tx.Query(ctx, "SELECT "+contentColumns+" FROM bodies WHERE repo = $1", r.id)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		c, err := scanContent(rows)
		if err != nil {
			r.problem(api.Key{}, "a content: %v", err)
			continue
		}
		r.checkContent(&c, keys)
		delete(r.kept, c.sum)
	}
	for sum := range r.kept {
		r.problem(api.Key{}, "a content is missing: %s", sum)
	}
	return rows.Err()
}

func (r *checkedRepo) checkContent(c *content, keys map[int64]*seal.DataKey) {
	text := string(c.text)
	if c.key != 0 {
		key, err := keys[c.key], errKeyGone
		if key != nil {
			text, err = key.Open(c.sum, c.text)
		}
		if key == nil || err != nil {
			r.problem(api.Key{}, "a content: %s: %v", c.sum, err)
			return
		}
	}
	switch {
	case r.ledger[c.sum]:
		r.problem(api.Key{}, "a content that was redacted is there: %s", c.sum)
	case api.SumString(text) != c.sum:
		r.problem(api.Key{}, "a content is not that of its checksum %s", c.sum)
	case !r.kept[c.sum]:
		r.problem(api.Key{}, "a content is there that no version has: %s", c.sum)
	}
}

// dataKeys unwraps the data keys of the repo. One that does not open is told; one
// whose master key is missing is an error, since nothing can be checked then.
func (r *checkedRepo) dataKeys(ctx context.Context, tx pgx.Tx) (map[int64]*seal.DataKey, error) {
	stored, err := storedKeys(ctx, tx, "WHERE repo = $1", r.id)
	if err != nil {
		return nil, err
	}
	keys := make(map[int64]*seal.DataKey, len(stored))
	for _, k := range stored {
		key, err := r.seals.keys.Unwrap(r.id, k.number, k.Wrapped)
		switch {
		case errors.Is(err, seal.ErrNoKey):
			return nil, err
		case err != nil:
			r.problem(api.Key{}, "%v", err)
		default:
			keys[k.number] = key
		}
	}
	return keys, nil
}
