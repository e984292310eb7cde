package sqlitestore

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
)

// moveMembers lets what people, join codes and tokens may do in one repo follow it
// to another name.
func moveMembers(conn *sqlite.Conn, from, to api.Repo) error {
	if from == to {
		return nil
	}
	var all []store.User
	err := sqlitex.Execute(conn, "SELECT "+userColumns+" FROM users WHERE instr(members, ?) > 0", &sqlitex.ExecOptions{
		Args: []any{from.String()},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			u, err := scanUser(stmt)
			all = append(all, u)
			return err
		},
	})
	if err != nil {
		return err
	}
	for _, u := range all {
		next := u
		var any bool
		if next.Member, any = store.MoveMembership(u.Member, from, to); !any {
			continue // the name is a part of another
		}
		if _, err := writeUser(conn, u, next); err != nil {
			return err
		}
	}
	if err := exec(conn, "UPDATE join_codes SET repo = ? WHERE repo = ?", to.String(), from.String()); err != nil {
		return err
	}
	if err := exec(conn, "UPDATE tokens SET repos = ? WHERE repos = ?", to.String(), from.String()); err != nil {
		return err
	}
	if conn.Changes() == 0 {
		return nil
	}
	return touchCredentials(conn)
}

// settleMembers is moveMembers for what still has a name that was given up, in
// stores of earlier releases: it belongs to the data that the name stood for.
func (b *binder) settleMembers() error {
	var home api.Repo
	err := sqlitex.Execute(b.conn, "SELECT r.name FROM former_names f JOIN repos r ON r.id = f.repo WHERE f.name = ?", &sqlitex.ExecOptions{
		Args:       []any{b.name.String()},
		ResultFunc: func(stmt *sqlite.Stmt) (err error) { home, err = api.ParseRepo(stmt.ColumnText(0)); return err },
	})
	if err != nil || home.IsZero() {
		return err
	}
	return moveMembers(b.conn, b.name, home)
}
