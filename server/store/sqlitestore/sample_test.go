package sqlitestore_test

import (
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func keyOf(t testing.TB, s string) api.Key {
	t.Helper()
	key, err := api.ParseKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func repoOf(t testing.TB, s string) api.Repo {
	t.Helper()
	repo, err := api.ParseRepo(s)
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func puts(t testing.TB, pairs ...string) store.Change {
	t.Helper()
	c := store.Change{At: when}
	for i := 0; i < len(pairs); i += 2 {
		c.Puts = append(c.Puts, store.Put{Key: keyOf(t, pairs[i]), Content: pairs[i+1], Sum: api.SumString(pairs[i+1])})
	}
	return c
}

func always(c store.Change) func(store.Tx) (store.Change, error) {
	return func(store.Tx) (store.Change, error) { return c, nil }
}

func update(t testing.TB, s store.Store, repo string, pairs ...string) *store.Head {
	t.Helper()
	head, err := s.Update(t.Context(), repoOf(t, repo), always(puts(t, pairs...)))
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func headOf(t testing.TB, s store.Store, repo string) *store.Head {
	t.Helper()
	head, err := s.Head(t.Context(), repoOf(t, repo))
	if err != nil {
		t.Fatal(err)
	}
	return head
}

func token(id string) store.Token {
	return store.Token{ID: id, Hash: api.SumString(id), Repos: "*", Role: api.Reader, CreatedAt: when}
}

// sql runs statements on a database as another program would, and returns the
// first column of their rows.
func sql(t testing.TB, dir string, statements ...string) (rows []string) {
	t.Helper()
	conn := connect(t, dir)
	defer conn.Close()
	for _, statement := range statements {
		err := sqlitex.ExecuteTransient(conn, statement, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			rows = append(rows, stmt.ColumnText(0))
			return nil
		}})
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	return rows
}

func connect(t testing.TB, dir string) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(filepath.Join(dir, "teammemd.db"), sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func checkIntegrity(t testing.TB, dir string) {
	t.Helper()
	if rows := sql(t, dir, "PRAGMA integrity_check"); len(rows) != 1 || rows[0] != "ok" {
		t.Errorf("integrity check: %q", rows)
	}
}

// group runs updates so that one transaction commits them, in their order, and
// returns their errors.
func group(t *testing.T, s *sqlitestore.Store, updates ...func() error) []error {
	t.Helper()
	inside, goOn := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := s.Update(t.Context(), repoOf(t, "group/leader"), func(store.Tx) (store.Change, error) {
			close(inside)
			<-goOn
			return store.Change{}, nil
		})
		first <- err
	}()
	<-inside
	errs := make([]chan error, len(updates))
	for i, run := range updates {
		errs[i] = make(chan error, 1)
		go func() { errs[i] <- run() }()
		for s.Queued() != i+1 {
			runtime.Gosched()
		}
	}
	close(goOn)
	answers := make([]error, len(updates))
	for i := range errs {
		answers[i] = <-errs[i]
	}
	<-first
	return answers
}
