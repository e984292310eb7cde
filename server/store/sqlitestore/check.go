package sqlitestore

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// Check reads everything and reports what contradicts. It reads one snapshot,
// beside a server that runs; while it does the log cannot be folded in, and
// grows with what is written.
func (s *Store) Check(ctx context.Context, found func(store.Problem)) error {
	err := s.readConn(ctx, func(conn *sqlite.Conn) error {
		_, err := transact(conn, beginRead, func() error { return s.checkAll(conn, found) })
		return err
	})
	if err != nil {
		return fmt.Errorf("checking the database: %w", err)
	}
	return nil
}

func (s *Store) checkAll(conn *sqlite.Conn, found func(store.Problem)) error {
	sound, err := checkEngine(conn, found)
	if err != nil || !sound {
		return err // what follows would read damaged pages
	}
	if err := checkServer(conn, found); err != nil {
		return err
	}
	repos, err := allRepos(conn)
	if err != nil {
		return err
	}
	for _, r := range repos {
		r.seals = &s.seals
		if err := r.check(conn, found); err != nil {
			return fmt.Errorf("repo number %d: %w", r.id, err)
		}
	}
	return nil
}

// checkEngine is SQLite's own check.
func checkEngine(conn *sqlite.Conn, found func(store.Problem)) (sound bool, err error) {
	sound = true
	err = sqlitex.ExecuteTransient(conn, "PRAGMA integrity_check", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		if text := stmt.ColumnText(0); text != "ok" {
			sound = false
			found(store.Problem{What: "the engine's check: " + text})
		}
		return nil
	}})
	if sqlite.ErrCode(err).ToPrimary() == sqlite.ResultCorrupt {
		found(store.Problem{What: "the engine's check could not go on: " + err.Error()})
		return false, nil
	}
	return sound, err
}

// strays lists what belongs to nobody: each query counts rows.
var strays = []struct{ what, query string }{
	{"the store has no epoch", "SELECT NOT EXISTS (SELECT 1 FROM meta WHERE name = 'epoch' AND value <> '')"},
	{"the store has no generation of credentials", "SELECT NOT EXISTS (SELECT 1 FROM meta WHERE name = 'credential_generation')"},
	{"the server's own row is missing", "SELECT NOT EXISTS (SELECT 1 FROM repos WHERE id = 0 AND name = '')"},
	{"entries belong to no repo", "SELECT count(*) FROM entries WHERE repo NOT IN (SELECT id FROM repos)"},
	{"tombstones belong to no repo", "SELECT count(*) FROM tombs WHERE repo NOT IN (SELECT id FROM repos)"},
	{"versions belong to no repo", "SELECT count(*) FROM versions WHERE repo NOT IN (SELECT id FROM repos)"},
	{"contents belong to no repo", "SELECT count(*) FROM bodies WHERE repo NOT IN (SELECT id FROM repos)"},
	{"data keys belong to no repo", "SELECT count(*) FROM data_keys WHERE repo NOT IN (SELECT id FROM repos)"},
	{"contents are plain and sealed at once, or neither", "SELECT count(*) FROM bodies WHERE (data_key = 0) <> (sealed IS NULL) OR (data_key <> 0 AND content <> '')"},
	{"the state of the data keys is missing", "SELECT count(*) <> 1 FROM data_rotation"},
	{"redactions belong to no repo", "SELECT count(*) FROM redactions WHERE repo NOT IN (SELECT id FROM repos)"},
	{"audit rows belong to no repo", "SELECT count(*) FROM audit WHERE repo NOT IN (SELECT id FROM repos)"},
	{"actors belong to no repo", "SELECT count(*) FROM actors WHERE repo NOT IN (SELECT id FROM repos)"},
	{"policy entries belong to no repo", "SELECT count(*) FROM scan_policy WHERE repo NOT IN (SELECT id FROM repos)"},
	{"policy entries name no actor", `SELECT count(*) FROM scan_policy p WHERE NOT EXISTS (SELECT 1 FROM actors a WHERE (a.repo, a.number) = (p.repo, p.actor))
		OR (ended_ms <> 0 AND NOT EXISTS (SELECT 1 FROM actors a WHERE (a.repo, a.number) = (p.repo, p.ended_by)))`},
	{"former names stand for no repo", "SELECT count(*) FROM former_names WHERE repo NOT IN (SELECT id FROM repos WHERE id <> 0)"},
	{"former names are in use", "SELECT count(*) FROM former_names WHERE name IN (SELECT name FROM repos)"},
	{"erased actors have names", "SELECT count(*) FROM actors WHERE erased <> 0 AND token || account || person || device || agent || session <> ''"},
	{"versions name no actor", "SELECT count(*) FROM versions v WHERE NOT EXISTS (SELECT 1 FROM actors a WHERE (a.repo, a.number) = (v.repo, v.actor))"},
	{"actors share a pseudonym", "SELECT count(*) - count(DISTINCT id) FROM actors"},
	{"tokens have a hash that is none", "SELECT count(*) FROM tokens WHERE length(hash) <> 32"},
}

func checkServer(conn *sqlite.Conn, found func(store.Problem)) error {
	for _, s := range strays {
		rows, err := queryInt(conn, s.query)
		if err != nil {
			return err
		}
		if rows > 0 {
			found(store.Problem{What: fmt.Sprintf("%s (%d)", s.what, rows)})
		}
	}
	return nil
}

// checkedRepo is a repo's row.
type checkedRepo struct {
	id       int64
	repo     api.Repo
	version  uint64
	modified int64
	chain    uint64
	seals    *sealer
	problem  func(key api.Key, format string, args ...any)
}

func allRepos(conn *sqlite.Conn) (repos []*checkedRepo, err error) {
	err = sqlitex.Execute(conn, "SELECT id, name, version, modified_ms, chain FROM repos ORDER BY id", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) (err error) {
			r := &checkedRepo{id: stmt.ColumnInt64(0), version: uint64(stmt.ColumnInt64(2)), modified: stmt.ColumnInt64(3), chain: uint64(stmt.ColumnInt64(4))}
			if r.id != serverRepo {
				if r.repo, err = api.ParseRepo(stmt.ColumnText(1)); err != nil {
					return err
				}
			}
			repos = append(repos, r)
			return nil
		},
	})
	return repos, err
}

func (r *checkedRepo) check(conn *sqlite.Conn, found func(store.Problem)) error {
	r.problem = func(key api.Key, format string, args ...any) {
		found(store.Problem{Repo: r.repo, Key: key, What: fmt.Sprintf(format, args...)})
	}
	past, err := r.checkVersions(conn)
	if err != nil {
		return err
	}
	if err := r.checkChain(conn, past.changes); err != nil {
		return err
	}
	if err := r.checkHead(conn, past); err != nil {
		return err
	}
	return r.checkBodies(conn, past)
}
