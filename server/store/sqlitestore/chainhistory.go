package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
)

// chainHistory seals what an older release wrote, and makes the chains that it
// would have written: one row for each version of each repo.
func chainHistory(conn *sqlite.Conn) error {
	var repos []int64
	err := sqlitex.Execute(conn, "SELECT id FROM repos WHERE version > 0", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		repos = append(repos, stmt.ColumnInt64(0))
		return nil
	}})
	if err != nil {
		return err
	}
	for _, repo := range repos {
		if err := chainRepo(conn, repo); err != nil {
			return err
		}
	}
	return nil
}

// oldVersion is a version with what a chain takes of it.
type oldVersion struct {
	store.Version

	ordinal int64
	actor   actorID
}

func chainRepo(conn *sqlite.Conn, repo int64) error {
	var versions []oldVersion
	err := sqlitex.Execute(conn, "SELECT "+ownVersionColumns+", v.ordinal FROM versions v WHERE v.repo = ? ORDER BY v.version, v.ordinal", &sqlitex.ExecOptions{
		Args: []any{repo},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := scanVersion(stmt)
			old := oldVersion{Version: v, ordinal: stmt.ColumnInt64(ownVersionWidth)}
			stmt.ColumnBytes(6, old.actor[:])
			versions = append(versions, old)
			return err
		},
	})
	if err != nil {
		return err
	}
	var end chain
	for len(versions) > 0 {
		n := 1
		for n < len(versions) && versions[n].Version.Version == versions[0].Version.Version {
			n++
		}
		if end, err = chainChange(conn, repo, end, versions[:n]); err != nil {
			return err
		}
		versions = versions[n:]
	}
	return exec(conn, "UPDATE repos SET chain = ?, chain_hash = ? WHERE id = ?", int64(end.number), end.hash[:], repo)
}

// chainChange seals the versions of one change and adds its audit row.
func chainChange(conn *sqlite.Conn, repo int64, end chain, made []oldVersion) (chain, error) {
	seals := make([][32]byte, len(made))
	for i := range made {
		seals[i] = made[i].Seal()
		if err := exec(conn, "UPDATE versions SET seal = ? WHERE repo = ? AND version = ? AND ordinal = ?",
			seals[i][:], repo, int64(made[i].Version.Version), made[i].ordinal); err != nil {
			return chain{}, err
		}
	}
	first := made[0]
	row := nextRow(end, first.actor, store.Event{Action: store.ActionWrite, At: first.At}, first.Version.Version, seals)
	return chain{row.Number, row.Hash}, insertAudit(conn, repo, first.actor, row)
}
