// Package pgtest starts real PostgreSQL servers for tests: throwaway clusters
// on unix sockets in a temporary directory, with fsync on, that can be stopped,
// killed, started again, copied to standbys and promoted.
//
//	dsn := pgtest.Schema(t)                     // an empty schema of the shared cluster
//	primary := pgtest.New(t, "fsync = on")      // a cluster of the test's own
//	standby := primary.Standby(t, "one")
//	primary.Kill(t)
//	standby.Promote(t)
//
// Nothing outlives the process of the tests, whatever becomes of it: a small
// shell waits for the end of its standard input, stops what runs and removes the
// files. Where PostgreSQL is not installed the test says SKIP. PostgreSQL refuses
// to run as root: a test that runs as root runs it as user postgres.
package pgtest
