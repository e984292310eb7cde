package server_test

import (
	"context"
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// openStore opens a store for serving.
func openStore(t testing.TB, dir string) store.Backend {
	t.Helper()
	return open(t, sqlitestore.Options{Dir: dir, Serve: true})
}

// openAgain opens the same data as another process does that changes tokens.
func openAgain(t testing.TB, dir string) store.Credentials {
	t.Helper()
	return open(t, sqlitestore.Options{Dir: dir})
}

func open(t testing.TB, o sqlitestore.Options) store.Backend {
	t.Helper()
	s, err := sqlitestore.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}
