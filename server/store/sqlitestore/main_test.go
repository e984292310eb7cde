package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

// writerEnv makes the test binary a process that writes into the data directory
// that it names.
const writerEnv = "TEAMMEMD_STORE_WRITER"

func TestMain(m *testing.M) {
	dir := os.Getenv(writerEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := writeUntilKilled(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(tb testing.TB, opts sqlitestore.Options) *sqlitestore.Store {
	tb.Helper()
	s, err := sqlitestore.Open(tb.Context(), opts)
	if err != nil {
		tb.Fatalf("opening: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("closing: %v", err)
		}
	})
	return s
}

func serve(tb testing.TB, dir string) *sqlitestore.Store {
	tb.Helper()
	return open(tb, sqlitestore.Options{Dir: dir, Serve: true})
}

// rawDatabase runs statements on a database file, past the store. It returns
// the first column of all rows.
func rawDatabase(tb testing.TB, dir string, statements ...string) (rows []string) {
	tb.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	}()
	for _, statement := range statements {
		err := sqlitex.ExecuteTransient(conn, statement, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			rows = append(rows, stmt.ColumnText(0))
			return nil
		}})
		if err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
	return rows
}

func wantSound(tb testing.TB, dir string) {
	tb.Helper()
	if got := rawDatabase(tb, dir, "PRAGMA integrity_check"); len(got) != 1 || got[0] != "ok" {
		tb.Errorf("integrity check: %q", got)
	}
	for _, p := range problems(tb, dir) {
		tb.Errorf("%q %q: %s", p.Repo, p.Key, p.What)
	}
	// The head must be what history says: nothing half-written. Asked once more, so
	// that the check is not its own judge.
	for what, query := range map[string]string{
		"entries without their version": "SELECT key FROM entries e WHERE NOT EXISTS (SELECT 1 FROM versions v WHERE (v.repo, v.key, v.version, v.sum) = (e.repo, e.key, e.version, e.sum))",
		"entries without a body":        "SELECT key FROM entries e WHERE NOT EXISTS (SELECT 1 FROM bodies b WHERE (b.repo, b.sum) = (e.repo, e.sum))",
		"keys live and dead":            "SELECT e.key FROM entries e JOIN tombs t ON (e.repo, e.key) = (t.repo, t.key)",
		"repos with gaps":               "SELECT name FROM repos r WHERE version <> (SELECT count(*) FROM audit a WHERE a.repo = r.id AND a.version > 0)",
	} {
		if rows := rawDatabase(tb, dir, query); len(rows) != 0 {
			tb.Errorf("%s: %d rows", what, len(rows))
		}
	}
}

var (
	mustKey, mustRepo = storetest.Key, storetest.Repo

	acme = mustRepo("acme/api")
)

func putting(key, content string) func(store.Tx) (store.Change, error) {
	return func(store.Tx) (store.Change, error) { return change(key, content), nil }
}

func change(key, content string) store.Change {
	return store.Change{At: time.Now(), Puts: []store.Put{{Key: mustKey(key), Content: content, Sum: api.SumString(content)}}}
}
