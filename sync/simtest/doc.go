// Package simtest runs whole histories of several clients and a server from one
// seed, in one goroutine: the real [sync.Core] of each client and the real hands
// of the engine, over disks that forget what was not synced, a network that
// fails before and after the server did its work, and people who save in between
// any two steps of all that.
//
// A [History] is a list of operations, each with a seed of its own, so that any
// of them can be left out: [Minimise] makes a failing history small enough to
// read. The ports of a client follow the order that packages memdir and statedir
// document, one step at a time. Referees hold everything against the promises of
// SYNC.md, each a function of its own, while the history runs and after it has
// settled.
//
//	world, err := simtest.New(simtest.Draw(seed))
//	err = world.Run() // nil, or the first broken promise
//
// What it does not simulate: watchers and their system limits, the encoding of
// requests and of the journal, systems that cannot tell who writes a file, and
// servers without our additions.
package simtest
