// Package sqlitestore keeps a server's data in one SQLite database: the default
// for one machine. What it promises is the contract of package store.
//
// The database is in WAL mode with synchronous=FULL: a write that returned has
// been synced to the disk. Writes of all repos form groups, each committed by
// one transaction, so that many writers share the price of one sync. Heads stay
// in memory; reading one touches the database only the first time.
//
// One process serves a data directory at a time. Others may open it beside the
// server to change credentials.
package sqlitestore
