package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

func TestConformance(t *testing.T) {
	for name, rows := range map[string]int{"cached": 0, "tiny cache": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time goes into waiting for the disk
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				t.Helper()
				dir := t.TempDir()
				open := func(serve bool) func() (store.Backend, error) {
					return func() (store.Backend, error) {
						return sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: serve, CachedRows: rows})
					}
				}
				crash := func() (store.Backend, error) {
					return sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: crashed(t, dir), Serve: true})
				}
				return storetest.Harness{Open: open(true), Beside: open(false), Crash: crash}
			})
		})
	}
}

// crashed copies the files of a data directory as a crash would leave them. A
// reader holds its place meanwhile: a checkpoint can then neither write what the
// copied log lacks into the database, nor begin the log anew.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	defer readOutside(t, dir)()
	after := t.TempDir()
	for _, name := range []string{"teammemd.db", "teammemd.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(after, name), string(data))
	}
	return after
}

// readOutside takes a snapshot of the database and holds it, as another process
// would.
func readOutside(t *testing.T, dir string) (release func()) {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"), sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"BEGIN", "SELECT * FROM meta"} {
		if err := sqlitex.Execute(conn, statement, nil); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
