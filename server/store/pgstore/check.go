package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Check reads everything and reports what contradicts, in one snapshot, beside
// servers that write. Where the extension amcheck is there, it checks the indexes
// as well; pages are checked by PostgreSQL itself, where the cluster has
// checksums.
func (s *Store) Check(ctx context.Context, found func(store.Problem)) error {
	err := s.check(ctx, found)
	if err != nil {
		return fmt.Errorf("checking the database: %w", err)
	}
	return nil
}

func (s *Store) check(ctx context.Context, found func(store.Problem)) error {
	// A lost connection begins it anew: what was found before must not count twice.
	var problems []store.Problem
	err := retry(ctx, s.patience, func() error {
		problems = nil
		return s.checkOnce(ctx, func(p store.Problem) { problems = append(problems, p) })
	})
	for _, p := range problems {
		found(p)
	}
	return err
}

func (s *Store) checkOnce(ctx context.Context, found func(store.Problem)) error {
	if s.isClosed() {
		return errClosed
	}
	return pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if err := checkIndexes(ctx, tx, found); err != nil {
			return err
		}
		if err := checkStrays(ctx, tx, found); err != nil {
			return err
		}
		repos, err := checkedRepos(ctx, tx)
		if err != nil {
			return err
		}
		for _, r := range repos {
			r.found, r.seals = found, &s.seals
			if err := r.check(ctx, tx); err != nil {
				return fmt.Errorf("repo number %d: %w", r.id, err)
			}
		}
		return nil
	})
}

// checkIndexes is the engine's own check, where the operator has installed it.
func checkIndexes(ctx context.Context, tx pgx.Tx, found func(store.Problem)) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'amcheck')").Scan(&there); err != nil || !there {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT c.oid::bigint, c.relname::text FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid
		JOIN pg_am a ON a.oid = c.relam WHERE a.amname = 'btree' AND c.relnamespace = current_schema()::regnamespace AND i.indisvalid`)
	if err != nil {
		return err
	}
	names := make(map[int64]string)
	var oid int64
	var name string
	if _, err := pgx.ForEachRow(rows, []any{&oid, &name}, func() error { names[oid] = name; return nil }); err != nil {
		return err
	}
	for oid, name := range names {
		sub, err := tx.Begin(ctx) // a savepoint: an index that is broken is an error
		if err != nil {
			return err
		}
		if _, err := sub.Exec(ctx, "SELECT bt_index_check(index => $1::bigint::oid::regclass)", oid); err != nil {
			if !refused(err) {
				return err
			}
			found(store.Problem{What: "the engine's check: the index " + name + " is damaged"})
		}
		if err := sub.Rollback(ctx); err != nil {
			return err
		}
	}
	return nil
}

// strays lists what belongs to nobody: each query counts rows.
var strays = []struct{ what, query string }{
	{"the store has no epoch", "SELECT (NOT EXISTS (SELECT FROM meta WHERE name = 'epoch' AND value <> ''))::int"},
	{"the store has no generation of credentials", "SELECT (NOT EXISTS (SELECT FROM meta WHERE name = 'credential_generation'))::int"},
	{"the server's own row is missing", "SELECT (NOT EXISTS (SELECT FROM repos WHERE repo = 0 AND name = ''))::int"},
	{"entries belong to no repo", "SELECT count(*) FROM entries t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"tombstones belong to no repo", "SELECT count(*) FROM tombs t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"versions belong to no repo", "SELECT count(*) FROM versions t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"contents belong to no repo", "SELECT count(*) FROM bodies t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"data keys belong to no repo", "SELECT count(*) FROM data_keys t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"the state of the data keys is missing", "SELECT (count(*) <> 1)::int FROM data_rotation"},
	{"redactions belong to no repo", "SELECT count(*) FROM redactions t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"audit rows belong to no repo", "SELECT count(*) FROM audit t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"policy entries belong to no repo", "SELECT count(*) FROM scan_policy t WHERE NOT EXISTS (SELECT FROM repos r WHERE r.repo = t.repo)"},
	{"policy entries name no actor", `SELECT count(*) FROM scan_policy p WHERE NOT EXISTS (SELECT FROM actors a WHERE a.repo = p.repo AND a.id = p.actor)
		OR (p.ended_ms <> 0 AND NOT EXISTS (SELECT FROM actors a WHERE a.repo = p.repo AND a.id = p.ended_by))`},
	{"repos have a name that stands for others", `SELECT count(*) FROM repos r WHERE r.version > 0
		AND NOT EXISTS (SELECT FROM repo_names n WHERE n.repo = r.repo AND n.name = r.name)`},
	{"identities belong to other repos", `SELECT count(*) FROM repos r WHERE r.identity <> ''
		AND NOT EXISTS (SELECT FROM repo_identities i WHERE i.repo = r.repo AND i.identity = r.identity)`},
	{"tokens have a hash that is none", "SELECT count(*) FROM tokens WHERE length(hash) <> 32"},
}

func checkStrays(ctx context.Context, tx pgx.Tx, found func(store.Problem)) error {
	for _, s := range strays {
		var rows int
		if err := tx.QueryRow(ctx, s.query).Scan(&rows); err != nil {
			return err
		}
		if rows > 0 {
			found(store.Problem{What: fmt.Sprintf("%s (%d)", s.what, rows)})
		}
	}
	return nil
}

// checkedRepo is a repo's row, and what was found out of it so far.
type checkedRepo struct {
	id       int64
	repo     api.Repo
	version  int64
	modified int64
	number   int64
	hash     []byte
	found    func(store.Problem)
	seals    *sealer

	live   map[api.Key]store.Version // the newest version of each key
	kept   map[api.Checksum]bool     // contents that must be there
	ledger map[api.Checksum]bool     // contents that must not
}

func checkedRepos(ctx context.Context, tx pgx.Tx) ([]*checkedRepo, error) {
	rows, err := tx.Query(ctx, "SELECT repo, name, version, modified_ms, audit_number, audit_hash FROM repos ORDER BY repo")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*checkedRepo, error) {
		r := &checkedRepo{live: make(map[api.Key]store.Version), kept: make(map[api.Checksum]bool), ledger: make(map[api.Checksum]bool)}
		var name string
		err := row.Scan(&r.id, &name, &r.version, &r.modified, &r.number, &r.hash)
		if err == nil && r.id != serverRepo {
			r.repo, err = api.ParseRepo(name)
		}
		return r, err
	})
}

func (r *checkedRepo) problem(key api.Key, format string, args ...any) {
	r.found(store.Problem{Repo: r.repo, Key: key, What: fmt.Sprintf(format, args...)})
}

func (r *checkedRepo) check(ctx context.Context, tx pgx.Tx) error {
	made, err := r.checkChain(ctx, tx)
	if err != nil {
		return err
	}
	if err := r.checkVersions(ctx, tx, made); err != nil {
		return err
	}
	if err := r.checkHead(ctx, tx); err != nil {
		return err
	}
	return r.checkBodies(ctx, tx)
}
