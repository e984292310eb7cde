package core_test

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
