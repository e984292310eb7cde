package sqlitestore_test

import (
	"os"
	"path/filepath"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/seal"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

func TestConformance(t *testing.T) {
	for name, o := range map[string]sqlitestore.Options{"cached": {}, "tiny cache": {CachedRows: 3}, "encrypted": {Keys: storetest.Keys(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time goes into waiting for the disk
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				t.Helper()
				dir := t.TempDir()
				open := func(dir string, serve bool) (store.Backend, error) {
					o.Dir, o.Serve = dir, serve
					return sqlitestore.Open(t.Context(), o)
				}
				return storetest.Harness{
					Open:   func() (store.Backend, error) { return open(dir, true) },
					Beside: func() (store.Backend, error) { return open(dir, false) },
					Crash:  func() (store.Backend, error) { return open(crashed(t, dir), true) },
				}
			})
		})
	}
}

func TestSealed(t *testing.T) {
	t.Parallel()
	storetest.RunSealed(t, func(t *testing.T) storetest.SealedHarness {
		t.Helper()
		dir := t.TempDir()
		return storetest.SealedHarness{Open: func(keys *seal.Keys) (store.Backend, error) {
			return sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: true, Keys: keys})
		}}
	})
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
