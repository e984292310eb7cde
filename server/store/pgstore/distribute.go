package pgstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ErrNoCitus says that a database cannot be distributed as it is.
var ErrNoCitus = errors.New("the extension citus is not in this database: CREATE EXTENSION citus makes it, where the server has it")

// distributed is where Citus lists its tables.
const distributed = "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass)"

// Distribute spreads the tables over the nodes of a Citus cluster, by the repo's
// number, and lets the functions of the hot path run on the node that has the
// repo. What is spread already is left alone. [ErrNoCitus] without the extension.
func (s *Store) Distribute(ctx context.Context) error {
	have, err := s.hasCitus(ctx)
	if err == nil && !have {
		err = ErrNoCitus
	}
	if err != nil {
		return fmt.Errorf("distributing the tables: %w", err)
	}
	for _, step := range distribution() {
		var done bool
		if step.table != "" {
			if err := s.pool.QueryRow(ctx, distributed, step.table).Scan(&done); err != nil {
				return fmt.Errorf("distributing the tables: %w", err)
			}
		}
		if done {
			continue
		}
		if _, err := s.pool.Exec(ctx, step.statement); err != nil {
			return fmt.Errorf("distributing %s: %w", step.what(), err)
		}
	}
	return nil
}

func (s *Store) hasCitus(ctx context.Context) (have bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')").Scan(&have)
	return have, err
}

// isDistributed reports whether the outbox is spread over nodes, each of which
// numbers its transactions by itself.
func isDistributed(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var spread bool
	err := conn.QueryRow(ctx, "SELECT to_regclass('pg_dist_partition') IS NOT NULL").Scan(&spread)
	if err == nil && spread {
		err = conn.QueryRow(ctx, distributed, "outbox").Scan(&spread)
	}
	return spread, err
}

// step is one statement of a distribution.
type step struct {
	table     string // "" for a function
	statement string
}

func (s step) what() string {
	if s.table != "" {
		return "the table " + s.table
	}
	return "a function"
}

// functions are those of the hot path, which are for one repo.
var functions = []string{
	"teammemd_actor(bigint, text, bytea, text)",
	"teammemd_chain(bigint, bigint, bytea, text, text, bigint, bigint, bytea, text, bytea, bytea)",
	"teammemd_audit(bigint, text, bytea, text, text, bigint, bytea, text, bytea)",
	apply + ", bigint)",
	apply + ")", // of the release before
}

const apply = "teammemd_apply(bigint, text, bigint, uuid, bigint, text, bytea, text, text, text, bytea, text, bytea, bytea, " +
	"text[], text[], bytea[], integer[], text[], bytea[], bytea[], bytea[], bytea[], boolean, boolean, bytea[]"

// distribution returns the statements, the table that others lie beside first.
func distribution() []step {
	var steps []step
	for _, table := range ReferenceTables() {
		if table != schemaTable { // goose's own, which only a migration reads
			steps = append(steps, step{table, "SELECT create_reference_table('" + table + "')"})
		}
	}
	for _, table := range RepoTables() {
		statement := "SELECT create_distributed_table('" + table + "', 'repo')"
		if table != RepoTables()[0] {
			statement = "SELECT create_distributed_table('" + table + "', 'repo', colocate_with => '" + RepoTables()[0] + "')"
		}
		steps = append(steps, step{table, statement})
	}
	for _, function := range functions {
		steps = append(steps, step{"", "SELECT create_distributed_function('" + function + "', 'p_repo', colocate_with => '" + RepoTables()[0] + "')"})
	}
	return slices.Clip(steps)
}
