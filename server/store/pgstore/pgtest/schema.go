package pgtest

import (
	"context"
	"flag"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

var (
	shared  Cluster
	started atomic.Bool
	turn    = make(chan struct{}, 1) // holds one value while the shared cluster is being started
	schemas atomic.Int64
)

// Shared returns the cluster that all tests of this process share. It lives as
// long as the process. Benchmarks find one that waits for the disk, and tests one
// that does not, see [Forgetful].
func Shared(tb testing.TB) *Cluster {
	tb.Helper()
	b := needBase(tb)
	turn <- struct{}{}
	defer func() { <-turn }()
	if !started.Load() {
		conf := []string{Forgetful}
		if bench := flag.Lookup("test.bench"); bench != nil && bench.Value.String() != "" {
			conf = nil
		}
		shared = *b.create(tb, conf)
		started.Store(true)
	}
	return &shared
}

// Schema makes an empty schema in the shared cluster and returns the DSN under
// which it is the only one in sight. It is dropped when the test ends.
func Schema(tb testing.TB) string {
	tb.Helper()
	return SchemaIn(tb, Shared(tb))
}

// SchemaIn is [Schema] in another cluster.
func SchemaIn(tb testing.TB, c *Cluster) string {
	tb.Helper()
	name := fmt.Sprintf("t%d", schemas.Add(1))
	c.Exec(tb, "CREATE SCHEMA "+name)
	tb.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), c.DSN())
		if err != nil {
			return // the cluster is down, and goes with everything
		}
		_ = conn.Close(context.Background())
		c.Exec(tb, "SET client_min_messages = error; DROP SCHEMA "+name+" CASCADE")
	})
	return c.DSN() + " search_path=" + name
}
