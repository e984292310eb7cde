package pgstore_test

import (
	"context"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/storetest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		// Each step is a commit and several round trips: 100 histories take a minute.
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func open(tb testing.TB, o pgstore.Options) *pgstore.Store {
	tb.Helper()
	s, err := pgstore.Open(context.Background(), o)
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

func serve(tb testing.TB, dsn string) *pgstore.Store {
	tb.Helper()
	return open(tb, pgstore.Options{DSN: dsn, Serve: true})
}

// rows runs a query past the store and returns its first column as text.
func rows(tb testing.TB, dsn, query string, args ...any) []string {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	found, err := conn.Query(context.Background(), query, args...)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	texts, err := pgx.CollectRows(found, pgx.RowTo[string])
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return texts
}

var (
	mustKey, mustRepo = storetest.Key, storetest.Repo

	acme = mustRepo("acme/api")
)

func putting(key, content string) func(store.Tx) (store.Change, error) {
	return func(store.Tx) (store.Change, error) { return change(key, content), nil }
}

func change(key, content string) store.Change {
	return store.Change{At: time.Now(), Actor: api.Actor{Person: "ada"}, Puts: []store.Put{{Key: mustKey(key), Content: content, Sum: api.SumString(content)}}}
}

func put(tb testing.TB, s store.Store, key, content string) *store.Head {
	tb.Helper()
	head, err := s.Update(context.Background(), acme, putting(key, content))
	if err != nil {
		tb.Fatal(err)
	}
	return head
}
