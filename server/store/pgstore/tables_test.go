package pgstore_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// TestTablesCanBeDistributed reads off the catalogue that every table is either a
// lookup table, or has the repo at the beginning of every unique constraint, index
// and foreign key, draws no numbers from a sequence, and has no trigger.
func TestTablesCanBeDistributed(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	serve(t, dsn)
	const mine = " AND c.relnamespace = current_schema()::regnamespace"
	tables := rows(t, dsn, "SELECT c.relname::text FROM pg_class c WHERE c.relkind = 'r'"+mine+" ORDER BY 1")
	known := slices.Sorted(slices.Values(append(pgstore.RepoTables(), pgstore.ReferenceTables()...)))
	if !slices.Equal(tables, known) {
		t.Errorf("tables %v, documented are %v", tables, known)
	}
	const ofRepos = " AND c.relname = ANY ($1)"
	unique := `SELECT c.relname || ': ' || array_to_string(ARRAY(
			SELECT a.attname FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (n, at) JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.n ORDER BY k.at), ',')
		FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE i.indisunique` + mine + ofRepos
	found := rows(t, dsn, unique, pgstore.RepoTables())
	if len(found) < len(pgstore.RepoTables()) {
		t.Errorf("not every table has a key: %v", found)
	}
	for _, key := range found {
		if _, columns, _ := strings.Cut(key, ": "); columns != "repo" && !strings.HasPrefix(columns, "repo,") {
			t.Errorf("a unique constraint does not begin with the repo: %s", key)
		}
	}
	for what, query := range map[string]string{
		"a foreign key without the repo": `SELECT k.conname::text FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE k.contype = 'f'
			AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'repo' AND a.attnum = k.conkey[1])` + mine + ofRepos,
		"a column that draws from a sequence": `SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
			WHERE (a.attidentity <> '' OR pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval%')` + mine + ofRepos,
		"a trigger": `SELECT c.relname || '.' || g.tgname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid WHERE NOT g.tgisinternal` + mine + ofRepos,
	} {
		for _, name := range rows(t, dsn, query, pgstore.RepoTables()) {
			t.Errorf("%s: %s", what, name)
		}
	}
}

// TestFunctionsCanBeDistributed sees that every function that we make is one that
// a distribution names, whole signatures compared.
func TestFunctionsCanBeDistributed(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	serve(t, dsn)
	for _, signature := range pgstore.Functions() {
		if found := rows(t, dsn, "SELECT to_regprocedure($1)::text WHERE to_regprocedure($1) IS NOT NULL", signature); len(found) == 0 {
			t.Errorf("there is no function %s", signature)
		}
	}
	made := rows(t, dsn, "SELECT proname::text FROM pg_proc WHERE pronamespace = current_schema()::regnamespace")
	if len(made) != len(pgstore.Functions()) {
		t.Errorf("functions %v, a distribution names %d", made, len(pgstore.Functions()))
	}
}

// TestBodiesAreCompressed sees that contents have lz4, which Debian's server is
// built with.
func TestBodiesAreCompressed(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Schema(t)
	s := serve(t, dsn)
	put(t, s, "a.md", strings.Repeat("memory text, ", 400))
	if got := rows(t, dsn, "SELECT pg_column_compression(content)::text FROM bodies"); !slices.Equal(got, []string{"lz4"}) {
		t.Errorf("compression %v", got)
	}
}
