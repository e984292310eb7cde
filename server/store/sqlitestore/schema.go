package sqlitestore

import (
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks our databases for SQLite and file(1): "tmem" in ASCII. The
// first migration sets it.
const applicationID = 0x746d656d

// migrate prepares the writer's connection and applies what is missing, each
// step in a transaction of its own. A database of somebody else or of a newer
// release is left as it is.
func migrate(conn *sqlite.Conn) error {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	slices.Sort(names)
	conn.SetBusyTimeout(busyTimeout)
	have, err := schemaVersion(conn)
	if err != nil {
		return err
	}
	if have > len(names) {
		return fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewerSchema, have, len(names))
	}
	if err := prepareWriter(conn); err != nil {
		return err
	}
	for number := have; number < len(names); number++ {
		if err := transact(conn, func() error { return applyMigration(conn, names[number], number) }); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", number+1, err)
		}
	}
	return nil
}

// schemaVersion returns 0 for an empty database.
func schemaVersion(conn *sqlite.Conn) (version int, err error) {
	var application, tables int
	err = query(conn, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`, nil, func(stmt *sqlite.Stmt) error {
		version, application, tables = stmt.ColumnInt(0), stmt.ColumnInt(1), stmt.ColumnInt(2)
		return nil
	})
	if sqlite.ErrCode(err) == sqlite.ResultNotADB {
		return 0, fmt.Errorf("%w: %w", errNoDatabase, err)
	}
	if err == nil && application != applicationID && (application != 0 || version != 0 || tables != 0) {
		err = errors.New("this is the database of another program")
	}
	return version, err
}

// applyMigration runs one script, unless another process did meanwhile.
func applyMigration(conn *sqlite.Conn, name string, number int) error {
	have, err := schemaVersion(conn)
	if err != nil || have > number {
		return err
	}
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	if err := sqlitex.ExecuteScript(conn, string(script), nil); err != nil {
		return err
	}
	if number == 0 {
		// 128 random bits; never a colon or a semicolon in them.
		if err := exec(conn, "INSERT INTO meta (name, value) VALUES ('epoch', ?), ('credential_generation', 1)", rand.Text()); err != nil {
			return err
		}
	}
	return sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA user_version = %d", number+1), nil)
}
