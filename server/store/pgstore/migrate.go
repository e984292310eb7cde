package pgstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
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
	known := known()
	err := retry(ctx, patience, func() error {
		have, err := applied(ctx, config)
		if err != nil {
			return err
		}
		if newest, ours := slices.Max(append(have, 0)), slices.Max(known); newest > ours {
			return fmt.Errorf("%w: schema %d, this one knows %d", store.ErrNewerSchema, newest, ours)
		}
		if !slices.ContainsFunc(known, func(n int64) bool { return !slices.Contains(have, n) }) {
			return nil
		}
		return applyMigrations(ctx, config)
	})
	return err
}

// known returns the numbers of the migrations. They may have gaps.
func known() []int64 {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	numbers := make([]int64, len(names))
	for i, name := range names {
		if _, err := fmt.Sscanf(path.Base(name), "%d_", &numbers[i]); err != nil {
			panic(name + " has no number") // no build with such a script passes a test
		}
	}
	return numbers
}

// applied returns the numbers of the migrations that were applied, none for a new
// database.
func applied(ctx context.Context, config *pgx.ConnConfig) (have []int64, err error) {
	conn, err := pgx.ConnectConfig(ctx, config.Copy())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if conn.PgConn().ParameterStatus("server_encoding") != "UTF8" {
		return nil, errEncoding
	}
	rows, err := conn.Query(ctx, "SELECT version_id FROM "+schemaTable+" WHERE is_applied")
	if err == nil {
		have, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42P01" { // no such table
		return nil, nil
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
	return goose.NewProvider("", db, scripts, goose.WithStore(versions), goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true)) // a lower number may come with a later release
}
