// Package sqlitetest opens real stores for the tests of the layers above them.
package sqlitetest

import (
	"context"
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
)

// Serve opens the data in dir as a server does, until the test ends.
func Serve(tb testing.TB, dir string) store.Backend {
	tb.Helper()
	return open(tb, sqlitestore.Options{Dir: dir, Serve: true})
}

// Beside opens the same data as another process does that changes tokens while
// a server runs.
func Beside(tb testing.TB, dir string) store.Credentials {
	tb.Helper()
	return open(tb, sqlitestore.Options{Dir: dir})
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
