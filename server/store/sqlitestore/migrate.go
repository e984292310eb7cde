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

// applicationID marks a database file as ours: "tmmd".
const applicationID = 0x746d6d64

var errForeign = errors.New("this database belongs to another program")

// scripts returns the names of the migrations in their order.
func scripts() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	slices.Sort(names)
	return names, err
}

// checkSchema refuses a database that this release cannot bring up to date. It
// only reads.
func (s *Store) checkSchema() error {
	names, err := scripts()
	if err != nil {
		return err
	}
	have, err := s.settledSchema()
	if err == nil && have > len(names) {
		err = fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewerSchema, have, len(names))
	}
	return err
}

// settledSchema is schemaVersion at one moment, while others may be at work on
// a new database.
func (s *Store) settledSchema() (have int, err error) {
	_, err = transact(s.writer, beginRead, func() (err error) {
		have, err = s.schemaVersion()
		return err
	})
	return have, err
}

// migrate applies what is missing, each step in a transaction of its own.
func (s *Store) migrate() error {
	names, err := scripts()
	if err != nil {
		return err
	}
	have, err := s.settledSchema()
	if err != nil {
		return err
	}
	for number := have; number < len(names); number++ {
		if err := s.applyMigration(names[number], number); err != nil {
			return fmt.Errorf("migrating to schema %d: %w", number+1, err)
		}
	}
	return nil
}

// schemaVersion returns the number of migrations applied. A database that is
// neither empty nor ours is refused. It runs inside a transaction.
func (s *Store) schemaVersion() (int, error) {
	id, err := queryInt(s.writer, "PRAGMA application_id")
	if err != nil {
		return 0, err
	}
	if id == applicationID {
		return queryInt(s.writer, "PRAGMA user_version")
	}
	tables, err := queryInt(s.writer, "SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	if id != 0 || tables != 0 {
		return 0, errForeign
	}
	return 0, nil
}

// applyMigration runs one script, unless another process did meanwhile.
func (s *Store) applyMigration(name string, number int) error {
	script, err := migrations.ReadFile(name)
	if err != nil {
		return err
	}
	_, err = transact(s.writer, beginWrite, func() error {
		have, err := s.schemaVersion()
		if err != nil || have > number {
			return err
		}
		if err := sqlitex.ExecuteScript(s.writer, string(script), nil); err != nil {
			return err
		}
		if finish := finishing[number]; finish != nil {
			if err := finish(s.writer); err != nil {
				return err
			}
		}
		return sqlitex.ExecuteTransient(s.writer, fmt.Sprintf("PRAGMA user_version = %d", number+1), nil)
	})
	return err
}

// finishing are what scripts cannot do, by their index, in their transactions.
var finishing = map[int]func(*sqlite.Conn) error{0: markNew, 2: chainHistory}

func markNew(conn *sqlite.Conn) error {
	if err := sqlitex.ExecuteTransient(conn, fmt.Sprintf("PRAGMA application_id = %d", applicationID), nil); err != nil {
		return err
	}
	return exec(conn, "INSERT INTO meta (name, value) VALUES ('epoch', ?), ('credential_generation', 1)", newEpoch())
}

// newEpoch returns 128 random bits; a colon or semicolon never stands in it.
func newEpoch() string { return rand.Text() }

func loadEpoch(conn *sqlite.Conn) (epoch string, err error) {
	err = sqlitex.Execute(conn, "SELECT value FROM meta WHERE name = 'epoch'", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		epoch = stmt.ColumnText(0)
		return nil
	}})
	if err == nil && epoch == "" {
		err = errors.New("the database has no epoch: it is damaged")
	}
	return epoch, err
}

func queryInt(conn *sqlite.Conn, query string) (value int, err error) {
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		value = stmt.ColumnInt(0)
		return nil
	}})
	return value, err
}
