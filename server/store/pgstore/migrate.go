package pgstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"github.com/teammem/teammemd/server/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// schemaTable is where goose keeps what it applied.
const schemaTable = "schema_versions"

// lockSchema lets one process at a time change a schema. The lock ends with the
// transaction or the connection, whichever way.
const lockSchema = "SELECT pg_advisory_lock(hashtextextended('teammemd schema ' || current_schema(), 0))"

// migrate applies what is missing. It waits for another process that does so at
// this moment, and for a database that cannot be reached up to patience.
func migrate(ctx context.Context, config *pgx.ConnConfig, patience time.Duration) error {
	err := retry(ctx, patience, func() error {
		have, err := schemaVersion(ctx, config)
		if err != nil {
			return err
		}
		want := latest()
		switch {
		case have > want:
			return fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewerSchema, have, want)
		case have == want:
			return nil
		}
		return applyMigrations(ctx, config)
	})
	return err
}

// latest returns the number of the newest migration.
func latest() int64 {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		return 0 // the pattern is a constant, and a build without scripts does not pass its tests
	}
	number, err := goose.NumericComponent(slices.Max(names))
	if err != nil {
		return 0
	}
	return number
}

// schemaVersion returns the number of the newest migration that was applied, 0
// for a new database.
func schemaVersion(ctx context.Context, config *pgx.ConnConfig) (have int64, err error) {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if conn.PgConn().ParameterStatus("server_encoding") != "UTF8" {
		return 0, errEncoding
	}
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+schemaTable+" WHERE is_applied").Scan(&have)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42P01" { // no such table
		return 0, nil
	}
	return have, err
}

func applyMigrations(ctx context.Context, config *pgx.ConnConfig) (err error) {
	db := stdlib.OpenDB(*config.Copy())
	defer func() { err = errors.Join(err, db.Close()) }()
	lock, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if _, err := lock.ExecContext(ctx, lockSchema); err != nil {
		return fmt.Errorf("waiting for another process that changes the schema: %w", err)
	}
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("changing the schema: %w", err)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	versions, err := database.NewStore(database.DialectPostgres, schemaTable)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider("", db, scripts, goose.WithStore(versions), goose.WithDisableGlobalRegistry(true))
}
