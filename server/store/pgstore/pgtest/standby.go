package pgtest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Standby makes a standby of c that follows it under this application name. It
// ends with the test.
func (c *Cluster) Standby(tb testing.TB, name string) *Cluster {
	tb.Helper()
	s := c.base.newCluster(tb)
	tb.Cleanup(func() { s.remove(tb) })
	c.base.run(tb, "pg_basebackup", "--pgdata="+s.data(), "--write-recovery-conf", "--no-sync", "--checkpoint=fast",
		"--dbname=host="+c.dir+" user="+superuser+" application_name="+name)
	s.Start(tb)
	return s
}

// Follow makes a standby follow another primary from now on.
func (c *Cluster) Follow(tb testing.TB, primary *Cluster, name string) {
	tb.Helper()
	c.Exec(tb, "ALTER SYSTEM SET primary_conninfo = 'host="+primary.dir+" user="+superuser+" application_name="+name+"'")
	c.Reload(tb)
}

// Leave makes a standby follow nobody from now on: it keeps what it has.
func (c *Cluster) Leave(tb testing.TB) {
	tb.Helper()
	c.Exec(tb, "ALTER SYSTEM SET primary_conninfo = ''")
	c.Reload(tb)
}

// Promote makes a standby the primary, as pg_ctl promote does, and returns when
// it takes writes.
func (c *Cluster) Promote(tb testing.TB) {
	tb.Helper()
	c.base.run(tb, "pg_ctl", "promote", "--wait", "--pgdata="+c.data())
}

// Reload applies what was configured meanwhile.
func (c *Cluster) Reload(tb testing.TB) {
	tb.Helper()
	c.Exec(tb, "SELECT pg_reload_conf()")
}

// Exec runs statements as the superuser.
func (c *Cluster) Exec(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		if _, err := c.query(statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// Value returns the first column of the first row as text, "" for none.
func (c *Cluster) Value(tb testing.TB, query string) string {
	tb.Helper()
	value, err := c.query(query)
	if err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return value
}

func (c *Cluster) query(statement string) (value string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.DSN())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	results, err := conn.PgConn().Exec(ctx, statement).ReadAll()
	if err == nil && len(results) > 0 && len(results[0].Rows) > 0 {
		value = string(results[0].Rows[0][0])
	}
	return value, err
}

// Until waits until a query's first value is want.
func (c *Cluster) Until(tb testing.TB, query, want string) {
	tb.Helper()
	for begun := time.Now(); ; <-time.After(10 * time.Millisecond) {
		got := c.Value(tb, query)
		if strings.EqualFold(got, want) {
			return
		}
		if time.Since(begun) > startTime {
			tb.Fatalf("%s is %q, not %q", query, got, want)
		}
	}
}
