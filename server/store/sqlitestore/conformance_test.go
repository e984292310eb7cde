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
	storetest.Run(t, func(t *testing.T) storetest.Fixture {
		dir := t.TempDir()
		serving := open(t, dir, true)
		return storetest.Fixture{
			Backend: serving,
			Reopen: func() store.Backend {
				if err := serving.Close(); err != nil {
					t.Fatal(err)
				}
				serving = open(t, dir, true)
				return serving
			},
			Crash:  func() store.Backend { return open(t, crashed(t, dir), true) },
			Beside: func() store.Backend { return open(t, dir, false) },
		}
	})
}

// open opens a store that is closed at the end of the test.
func open(t testing.TB, dir string, serve bool) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: serve})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// crashed copies the files of a data directory as a crash would leave them. A
// reader holds its place meanwhile: a checkpoint can then neither write what the
// copied log lacks into the database, nor begin the log anew.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"), sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, sql := range []string{"BEGIN", "SELECT * FROM meta"} {
		if err := sqlitex.Execute(conn, sql, nil); err != nil {
			t.Fatal(err)
		}
	}
	after := t.TempDir()
	for _, name := range []string{"teammemd.db", "teammemd.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(after, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return after
}
