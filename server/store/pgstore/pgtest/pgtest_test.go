package pgtest_test

import (
	"testing"

	"github.com/teammem/teammemd/server/store/pgstore/pgtest"
)

// TestFailover kills a primary with a row that a standby has, promotes that one
// and reads the row there.
func TestFailover(t *testing.T) {
	t.Parallel()
	primary := pgtest.New(t, "synchronous_standby_names = 'ANY 1 (one)'")
	standby := primary.Standby(t, "one")
	primary.Exec(t, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7)")
	primary.Kill(t)
	standby.Promote(t)
	if got := standby.Value(t, "SELECT n FROM kept"); got != "7" {
		t.Errorf("the promoted standby has %q", got)
	}
	if got := standby.Value(t, "SHOW fsync"); got != "on" {
		t.Errorf("fsync is %s", got)
	}
}

// TestRestart keeps what was committed before a kill, and each test its own
// schema.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t)
	pgtest.SchemaIn(t, c)
	c.Exec(t, "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (8)")
	c.Restart(t)
	if got := c.Value(t, "SELECT n FROM kept"); got != "8" {
		t.Errorf("after a restart: %q", got)
	}
	c.Stop(t)
	c.Start(t)
	if got := c.Value(t, "SELECT n FROM kept"); got != "8" {
		t.Errorf("after a stop: %q", got)
	}
}
