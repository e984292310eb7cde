// Package sync is the engine that keeps one directory of memories equal to one
// repo on a server, and loses no edit.
//
// It decides; others act. The core is a single-threaded machine, [Core.Step],
// from an event to the next effect: it sees no files, no network and no clock of
// its own. [Engine.Run] feeds it and carries out the effects through four
// interfaces that the program plugs in: [Tree] (the local directory), [Remote]
// (the server), [State] (what must survive a restart) and [Guard] (the secret
// scanner).
//
// The rules that the plan follows, and why, stand in DESIGN.md beside this file.
package sync
