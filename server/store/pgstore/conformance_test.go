package pgstore_test

import (
	"testing"
	"time"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/storetest"
)

func TestAccounts(t *testing.T) {
	t.Parallel()
	storetest.RunAccounts(t, func(t *testing.T) storetest.Harness {
		t.Helper()
		dsn := pgtest.Schema(t)
		open := func(serve bool) func() (store.Backend, error) {
			return func() (store.Backend, error) {
				return pgstore.Open(t.Context(), pgstore.Options{DSN: dsn, Serve: serve})
			}
		}
		return storetest.Harness{Open: open(true), Beside: open(false)}
	})
}

func TestConformance(t *testing.T) {
	for name, rows := range map[string]int{"cached": 0, "tiny cache": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time goes into waiting for the server
			cluster := pgtest.New(t, pgtest.Forgetful)
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				t.Helper()
				dsn := pgtest.SchemaIn(t, cluster)
				open := func(serve bool) func() (store.Backend, error) {
					return func() (store.Backend, error) {
						// A cluster that was killed may take a while to come back.
						return pgstore.Open(t.Context(), pgstore.Options{DSN: dsn, Serve: serve, CachedRows: rows, Patience: 30 * time.Second})
					}
				}
				// What a crash leaves is what the server finds when it starts again.
				crash := func() (store.Backend, error) {
					cluster.Restart(t)
					return open(true)()
				}
				return storetest.Harness{Open: open(true), Beside: open(false), Crash: crash}
			})
		})
	}
}
