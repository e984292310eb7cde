package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// findRepo returns the number of a name, and whether there is one: the zero
// Repo's is the server's.
func findRepo(conn *sqlite.Conn, repo api.Repo) (id int64, found bool, err error) {
	err = sqlitex.Execute(conn, "SELECT id FROM repos WHERE name = ?", &sqlitex.ExecOptions{
		Args:       []any{repo.String()},
		ResultFunc: func(stmt *sqlite.Stmt) error { id, found = stmt.ColumnInt64(0), true; return nil },
	})
	return id, found, err
}

// makeRepo returns the number of a name and gives it one where it has none.
// [store.ErrRenamed] for a name that was given up.
func makeRepo(conn *sqlite.Conn, repo api.Repo) (int64, error) {
	id, found, err := findRepo(conn, repo)
	if err != nil || found {
		return id, err
	}
	former, err := isFormer(conn, repo)
	if err != nil {
		return 0, err
	}
	if former {
		return 0, store.ErrRenamed
	}
	err = exec(conn, "INSERT INTO repos (name, version, modified_ms) VALUES (?, 0, 0)", repo.String())
	return conn.LastInsertRowID(), err
}

// isFormer reports whether a name was given up and nobody has taken it since.
func isFormer(conn *sqlite.Conn, repo api.Repo) (former bool, err error) {
	err = sqlitex.Execute(conn, "SELECT 1 FROM former_names WHERE name = ?", &sqlitex.ExecOptions{
		Args:       []any{repo.String()},
		ResultFunc: func(*sqlite.Stmt) error { former = true; return nil },
	})
	return former, err
}
