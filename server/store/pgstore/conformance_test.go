package pgstore_test

import (
	"testing"
	"time"

	"github.com/teammem/teammemd/server/store"
	"github.com/teammem/teammemd/server/store/pgstore"
	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
	"github.com/teammem/teammemd/server/store/seal"
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
	// Two things at once, which have nothing to do with each other: each run is a
	// cluster and some thousand commits.
	for name, o := range map[string]pgstore.Options{"cached": {}, "tiny cache, encrypted": {CachedRows: 3, Keys: storetest.Keys(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time goes into waiting for the server
			cluster := pgtest.New(t, pgtest.Forgetful)
			storetest.Run(t, func(t *testing.T) storetest.Harness {
				t.Helper()
				dsn := pgtest.SchemaIn(t, cluster)
				open := func(serve bool) func() (store.Backend, error) {
					return func() (store.Backend, error) {
						// A cluster that was killed may take a while to come back.
						o := o
						o.DSN, o.Serve, o.Patience = dsn, serve, 30*time.Second
						return pgstore.Open(t.Context(), o)
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

func TestSealed(t *testing.T) {
	t.Parallel()
	storetest.RunSealed(t, func(t *testing.T) storetest.SealedHarness {
		t.Helper()
		dsn := pgtest.Schema(t)
		return storetest.SealedHarness{Open: func(keys *seal.Keys) (store.Backend, error) {
			return pgstore.Open(t.Context(), pgstore.Options{DSN: dsn, Serve: true, Keys: keys})
		}}
	})
}
