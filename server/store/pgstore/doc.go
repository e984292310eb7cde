// Package pgstore keeps a store in PostgreSQL 14 or later, for several servers at
// once. It passes storetest; this page says what is its own.
//
// # Writing
//
// An update decides on the head in memory and commits by one call of a function in
// the database, which takes the repo's row under lock, checks that the repo still
// has the version that was decided on, and writes everything by statements over
// sets. Where another server was faster the head is refreshed and decide called
// again; where that keeps happening, the row is locked before. Updates of one repo
// by one process queue in memory. No transaction of an update touches two repos.
//
// # What became of a commit
//
// A commit is acknowledged when the database says so: with synchronous_commit on
// (the default) after the disk has it, and with synchronous_standby_names after
// the standbys have it. A connection that is lost during a commit, and a wait for a
// standby that was cancelled (it shows as a success with a warning), leave the
// outcome unknown. Each transaction therefore enters a random number, its change,
// into the outbox, whose key it is. To look is to enter the same number as given
// up: either it is there, and the change was committed; or it is not, and the
// change can never be committed any more, also if its statement is still on its way.
// Looking waits for a transaction that is still open, and its own commit is
// confirmed by a standby after the one in question. Only a change that is known not
// to have happened is tried again. Where looking is impossible for ten seconds, the
// error is [ErrUnknown].
//
// # Several servers
//
// A head in memory is a hint. [Store.Follow] reads the outbox, woken by one
// notification per server and 10 ms at most, or once a second; while it runs and
// looked at the database within the last three seconds, a head that it knows of no
// change of counts without asking. Otherwise every read compares versions first, by
// one query that brings what changed since. A write never relies on it. So what one
// server acknowledged another shows some 15 ms later, and at the latest after a
// second if the first one died before it could tell.
//
// # Tables
//
// Every table's key begins with the repo's number, which is random: no sequence is
// shared, and every unique constraint and every join contains it, so that the
// tables can be distributed with Citus. The exceptions are lookup tables, to be
// copied to every node as reference tables: [ReferenceTables]. Contents are
// compressed with lz4 where the server has it.
package pgstore
