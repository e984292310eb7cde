package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/teammem/teammemd/server/store"
)

const (
	// servingLock is shared by the servers of a store, each by the connection that
	// listens.
	servingLock = "hashtextextended('teammemd serving ' || current_schema(), 0)"
	// stopPatience is how long a replacement waits for servers that were just
	// stopped, and lockPatience how long for other verbs that are under way.
	stopPatience = 2 * time.Second
	lockPatience = 30 * time.Second

	codeNoLock = "55P03" // it did not come in time

	// maxIdentifier is the length of a name of PostgreSQL's, in bytes.
	maxIdentifier = 63
)

// ErrDistributed says that tables spread over several nodes cannot be replaced.
var ErrDistributed = errors.New("the tables are distributed: restore into a new database, and distribute that")

var errArrivedBroken = errors.New("what arrived contradicts itself, and was not put in place")

// Replace puts the tables of another store in the place of this one's, as
// [Store.Take] copies them. It refuses while a server follows this store
// ([store.ErrLocked]). They are prepared in a schema beside and checked, then one
// transaction puts them in place: before it nothing of this store is changed, and
// nobody else changes it. What was there stays in a schema of its own, whose name is
// returned; "" where there was no data. fill is told whether there is, and calls
// take. Afterwards the store is to be closed.
func (s *Store) Replace(ctx context.Context, fill func(ctx context.Context, data bool, take func(Tables) error) error) (kept string, err error) {
	if !s.serve {
		return "", fmt.Errorf("replacing the database: %w", errNotServing)
	}
	var r replacement
	err = s.commit(ctx, notice{version: anything}, func(ctx context.Context, tx pgx.Tx) error {
		r = replacement{s: s, tx: tx}
		return r.run(ctx, fill)
	})
	if err != nil {
		r.cleanUp(ctx)
		return "", fmt.Errorf("replacing the database: %w", err)
	}
	return r.kept, nil
}

// replacement is one call of Replace inside its transaction.
type replacement struct {
	s  *Store
	tx pgx.Tx
	// The schemas: the store's own, that of the new tables, and that of the old ones.
	own, beside, kept string
	made              bool // the schema beside, by us
}

func (r *replacement) run(ctx context.Context, fill func(context.Context, bool, func(Tables) error) error) error {
	if err := r.lock(ctx); err != nil {
		return err
	}
	data, err := hasData(ctx, r.tx)
	if err != nil {
		return err
	}
	if err := r.name(ctx); err != nil {
		return err
	}
	if err := fill(ctx, data, func(from Tables) error { return r.prepare(ctx, from) }); err != nil {
		return err
	}
	return r.swap(ctx, data)
}

// cleanUp takes away what a replacement made that failed. What it leaves, where it
// cannot, the next one takes away.
func (r *replacement) cleanUp(ctx context.Context) {
	if !r.made {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTime)
	defer cancel()
	_, _ = r.s.pool.Exec(ctx, "DROP SCHEMA IF EXISTS "+quoted(r.beside)+" CASCADE")
}

// lock keeps servers and all other writers away until the end.
func (r *replacement) lock(ctx context.Context) error {
	spread, err := isDistributed(ctx, r.tx.Conn())
	if err == nil && spread {
		err = ErrDistributed
	}
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"SET LOCAL idle_in_transaction_session_timeout = 0",
		fmt.Sprintf("SET LOCAL lock_timeout = %d", stopPatience.Milliseconds()),
		"SELECT pg_advisory_xact_lock(" + servingLock + ")",
		fmt.Sprintf("SET LOCAL lock_timeout = %d", lockPatience.Milliseconds()),
		"LOCK TABLE " + strings.Join(allTables(), ", ") + " IN EXCLUSIVE MODE",
	} {
		if _, err := r.tx.Exec(ctx, statement); err != nil {
			return inUse(err)
		}
	}
	return nil
}

// inUse says who is in the way.
func inUse(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == codeNoLock {
		return fmt.Errorf("%w: %w", store.ErrLocked, err)
	}
	return err
}

func allTables() []string { return append(RepoTables(), ReferenceTables()...) }

// name finds names for the schemas. The one beside is always the same, so that what
// a replacement left that was killed is found.
func (r *replacement) name(ctx context.Context) error {
	var taken []string
	err := r.tx.QueryRow(ctx, `SELECT n.nspname::text, (SELECT array_agg(nspname::text) FROM pg_namespace)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'repos'::regclass`).Scan(&r.own, &taken)
	if err != nil {
		return err
	}
	short := r.own[:min(len(r.own), maxIdentifier-len("_before_restore_000"))]
	r.beside = short + "_restoring"
	for n := 1; r.kept == "" || slices.Contains(taken, r.kept); n++ {
		r.kept = fmt.Sprintf("%s_before_restore_%d", short, n)
	}
	return nil
}

func quoted(schema string) string { return pgx.Identifier{schema}.Sanitize() }

// prepare fills the schema beside, and checks what arrived.
func (r *replacement) prepare(ctx context.Context, from Tables) (err error) {
	for _, statement := range []string{"DROP SCHEMA IF EXISTS " + quoted(r.beside) + " CASCADE", "CREATE SCHEMA " + quoted(r.beside)} {
		if _, err := r.s.pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("making the schema %q, for which the role needs the right CREATE on the database: %w", r.beside, err)
		}
	}
	r.made = true
	config := r.s.pool.Config()
	config.ConnConfig.RuntimeParams["search_path"] = quoted(r.beside)
	next, err := connect(ctx, config, Options{Serve: true, Keys: r.s.seals.keys, Patience: r.s.patience, Log: r.s.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	if err := next.Take(ctx, from); err != nil {
		return err
	}
	var found []string
	if err := next.Check(ctx, func(p store.Problem) { found = append(found, fmt.Sprintf("%s %s: %s", p.Repo, p.Key, p.What)) }); err != nil {
		return err
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %d problems, such as %s", errArrivedBroken, len(found), found[0])
	}
	return nil
}

// swap moves the old tables and functions out of the way, and the new ones in.
func (r *replacement) swap(ctx context.Context, data bool) error {
	if _, err := r.tx.Exec(ctx, "CREATE SCHEMA "+quoted(r.kept)); err != nil {
		return err
	}
	for _, move := range [][2]string{{r.own, r.kept}, {r.beside, r.own}} {
		if err := r.move(ctx, move[0], move[1]); err != nil {
			return inUse(err)
		}
	}
	if _, err := r.tx.Exec(ctx, "DROP SCHEMA "+quoted(r.beside)); err != nil {
		return err
	}
	if data {
		return nil
	}
	_, err := r.tx.Exec(ctx, "DROP SCHEMA "+quoted(r.kept)+" CASCADE")
	r.kept = ""
	return err
}

// ourFunctions are those that migrations make.
const ourFunctions = `SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid))
	FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1 AND p.proname LIKE 'teammemd\_%'`

func (r *replacement) move(ctx context.Context, from, to string) error {
	for _, table := range allTables() {
		if _, err := r.tx.Exec(ctx, "ALTER TABLE "+pgx.Identifier{from, table}.Sanitize()+" SET SCHEMA "+quoted(to)); err != nil {
			return err
		}
	}
	rows, err := r.tx.Query(ctx, ourFunctions, from)
	if err != nil {
		return err
	}
	functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, function := range functions {
		if _, err := r.tx.Exec(ctx, "ALTER FUNCTION "+function+" SET SCHEMA "+quoted(to)); err != nil {
			return err
		}
	}
	return nil
}
