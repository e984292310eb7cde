package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// migration is what `server migrate` was asked for.
type migration struct {
	server     serverFlags
	from, to   string
	distribute bool
}

func (a *app) migrateCommand() *cobra.Command {
	var m migration
	cmd := &cobra.Command{
		Use:   "migrate --from sqlite:DIR [--to postgres:DSN] | --distribute",
		Short: "Move everything to PostgreSQL, or spread its tables over a Citus cluster",
		Long: "Move repos with their history, redactions and chains of audit rows, policies,\n" +
			"tokens and accounts from SQLite to an empty PostgreSQL database: all or nothing.\n" +
			"Stop the server before. Clients go on as if nothing had happened.\n" +
			"With encryption_key_file what is encrypted there is opened, and everything is\n" +
			"encrypted anew here.\n\n" +
			"Without --to, and for --distribute, the database is the configuration's,\n" +
			"database.url. A password does not belong on a command line.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.migrate(cmd.Context(), &m) },
	}
	m.server.register(cmd)
	cmd.Flags().StringVar(&m.from, "from", "", "where the data are: sqlite:DIR")
	cmd.Flags().StringVar(&m.to, "to", "", "where they go: postgres:DSN, or a postgres:// URL (default: database.url)")
	cmd.Flags().BoolVar(&m.distribute, "distribute", false, "call create_distributed_table for every table, where the extension citus is there")
	return cmd
}

// places judges the flags and returns the directory, the database, and the
// configuration.
func (m *migration) places(a *app) (dir, dsn string, c config.Server, err error) {
	usage := func(text string) error {
		return withHint(fmt.Errorf("%w: %s", api.ErrUsage, text), "see 'teammemd server migrate --help'")
	}
	dir, sqlite := strings.CutPrefix(m.from, "sqlite:")
	switch {
	case m.distribute == (m.from != ""):
		return "", "", c, usage("say either --from or --distribute")
	case m.from != "" && (!sqlite || dir == ""):
		return "", "", c, usage("--from must be sqlite:DIR")
	}
	dsn = m.to
	if rest, short := strings.CutPrefix(m.to, "postgres:"); short && !strings.HasPrefix(rest, "//") {
		dsn = rest
	}
	if c, err = m.server.load(a); err != nil {
		return "", "", c, err
	}
	if m.to == "" {
		dsn = c.Database.URL
	}
	if dsn == "" {
		return "", "", c, usage("no database named: --to, or database.url in the configuration")
	}
	return dir, dsn, c, nil
}

func (a *app) migrate(ctx context.Context, m *migration) error {
	dir, dsn, c, err := m.places(a)
	if err != nil {
		return err
	}
	keys, err := loadKeys(c)
	if err != nil {
		return err
	}
	opened, err := openDatabase(ctx, pgstore.Options{DSN: dsn, Serve: true, Keys: keys})
	if err != nil {
		return err
	}
	to, ok := opened.(*pgstore.Store)
	if !ok {
		return errors.Join(fmt.Errorf("%w: not a database that can be filled", api.ErrInternal), opened.Close())
	}
	if m.distribute {
		err = a.distribute(ctx, to)
	} else {
		err = a.moveTo(ctx, sqlitestore.Options{Dir: dir, Serve: true, Keys: keys}, to)
	}
	return errors.Join(err, to.Close())
}

func (a *app) distribute(ctx context.Context, to *pgstore.Store) error {
	if err := to.Distribute(ctx); err != nil {
		if errors.Is(err, pgstore.ErrNoCitus) {
			return fmt.Errorf("%w: %w", api.ErrConfig, err)
		}
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "distributed": true})
	}
	a.printf("distributed by repo\n")
	return nil
}

// moveTo fills a database, and reads both again to see that they are alike.
func (a *app) moveTo(ctx context.Context, source sqlitestore.Options, to *pgstore.Store) (err error) {
	dir := source.Dir
	if found, err := isDir(dir); err != nil || !found {
		return errors.Join(err, withHint(fmt.Errorf("%w: there is no store in %s", api.ErrUsage, dir), "name the data directory of the server: --from sqlite:DIR"))
	}
	// The lock keeps a server from writing meanwhile.
	from, err := sqlitestore.Open(ctx, source)
	if err != nil {
		return explainStore(dir, err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if err := from.Dump(ctx, func(tables pgstore.Tables) error { return to.Take(ctx, tables) }); err != nil {
		if errors.Is(err, pgstore.ErrNotEmpty) {
			return withHint(fmt.Errorf("%w: %w", api.ErrConfig, pgstore.ErrNotEmpty), "nothing was changed; make another database, or empty this one")
		}
		return err
	}
	repos, err := compareStores(ctx, from, to)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "repos": repos})
	}
	a.printf("moved %d repos; set database.url and start the server\n", repos)
	return nil
}

// compareStores checks what arrived: every repo's state, and everything against
// everything by the store's own check.
func compareStores(ctx context.Context, from, to store.Backend) (repos int, err error) {
	names, err := from.Repos(ctx)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		was, err := from.Head(ctx, name)
		if err != nil {
			return 0, err
		}
		is, err := to.Head(ctx, name)
		if err != nil {
			return 0, err
		}
		if was.Checksum != is.Checksum || was.Version != is.Version || was.Epoch != is.Epoch {
			return 0, fmt.Errorf("%w: %s arrived changed; do not use the database", api.ErrInternal, name)
		}
	}
	problems := 0
	if err := to.Check(ctx, func(store.Problem) { problems++ }); err != nil {
		return 0, err
	}
	if problems > 0 {
		return 0, fmt.Errorf("%w: %d contradictions in the new database; do not use it", api.ErrInternal, problems)
	}
	return len(names), nil
}
