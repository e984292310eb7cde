package sqlitestore_test

import (
	"testing"

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
				return storetest.Harness{Open: open(true), Beside: open(false)}
			})
		})
	}
}
