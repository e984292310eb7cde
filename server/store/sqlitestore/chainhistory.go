package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
)

// chainHistory makes the chains that an older release would have written: one
// row for each version of each repo.
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

	actor actorRef
}

func chainRepo(conn *sqlite.Conn, repo int64) error {
	var versions []oldVersion
	err := sqlitex.Execute(conn, "SELECT "+ownVersionColumns+`, a.id FROM versions v
		JOIN actors a ON (a.repo, a.number) = (v.repo, v.actor) WHERE v.repo = ? ORDER BY v.version, v.ordinal`, &sqlitex.ExecOptions{
		Args: []any{repo},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v, err := scanVersion(stmt)
			old := oldVersion{Version: v, actor: actorRef{number: stmt.ColumnInt64(6)}}
			stmt.ColumnBytes(ownVersionWidth, old.actor.id[:])
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
	return exec(conn, "UPDATE repos SET chain = ? WHERE id = ?", int64(end.number), repo)
}

// chainChange adds the audit row of one change.
func chainChange(conn *sqlite.Conn, repo int64, end chain, made []oldVersion) (chain, error) {
	seals := make([][32]byte, len(made))
	for i := range made {
		seals[i] = made[i].Seal()
	}
	first := made[0]
	row := nextRow(end, first.actor, store.Event{Action: store.ActionWrite, At: first.At}, first.Version.Version, seals)
	return chain{row.Number, row.Hash}, insertAudit(conn, repo, first.actor, row)
}
