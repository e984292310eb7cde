package sqlitestore_test

import (
	"testing"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/sqlitestore"
	"github.com/teammem/teammemd/server/store/storetest"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	storetest.RunAccounts(t, func(t *testing.T) storetest.Harness {
		t.Helper()
		dir := t.TempDir()
		open := func(serve bool) func() (store.Backend, error) {
			return func() (store.Backend, error) {
				return sqlitestore.Open(t.Context(), sqlitestore.Options{Dir: dir, Serve: serve})
			}
		}
		return storetest.Harness{Open: open(true), Beside: open(false)}
	})
}
