package core_test

import (
	"context"
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// openStore opens a store for serving.
func openStore(tb testing.TB, dir string) store.Backend {
	tb.Helper()
	return open(tb, sqlitestore.Options{Dir: dir, Serve: true})
}

func open(tb testing.TB, o sqlitestore.Options) store.Backend {
	tb.Helper()
	s, err := sqlitestore.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("closing the store: %v", err)
		}
	})
	return s
}
