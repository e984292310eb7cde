// Package simtest runs whole histories of several clients and a server from one
// seed, in one goroutine: the real [sync.Core] of each client over a tree, a
// state and a server that live in memory, with the faults of SYNC.md drawn
// between any two effects.
//
// Its trees and its server are referees: they break a promise of the engine's
// contract loudly rather than quietly, and every text that a simulated person
// writes is followed to its end.
//
//	world := simtest.New(seed, simtest.Options{Clients: 3, Operations: 100})
//	err := world.Run() // nil, or the first broken promise
package simtest
