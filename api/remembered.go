package api

import "time"

// Memory is the content of a [State].
type Memory struct {
	Epoch    string
	Version  uint64
	LastPush time.Time // of something sent; zero = never
	LastPull time.Time // of something received
	Bases    map[Key]Base
	// Rules names what all texts here were last judged by; "" for nothing yet.
	Rules string
}

// Base is what both sides last agreed on for one key.
type Base struct {
	Sum Checksum // zero when Tomb is set, or when nothing was agreed yet
	// Tomb is the version at which the key was retired, 0 for a live base.
	Tomb uint64
	// Ring holds up to [RingSize] checksums that were the base before, newest
	// first.
	Ring []Checksum
	// Bad is a content of the server in which our rules found a secret. It must not
	// be applied here; where it stands here already, as Sum, it is told and judged
	// again by every cycle.
	Bad Checksum
}

// Live reports whether the server has the key, as far as is remembered: with a
// content that was agreed on, or with one that is kept away from here.
func (b Base) Live() bool { return !b.Sum.IsZero() || !b.Bad.IsZero() }

// RingSize is how many former bases a key remembers.
const RingSize = 16

// Record is one durable step of a [State].
type Record struct {
	// View, when set, replaces Epoch and Version.
	View *Position
	// Bases replaces the base of each key; a zero Base forgets the key.
	Bases map[Key]Base
	// Rules replaces the name of what everything was judged by, when it is set.
	Rules string
	// LastPush and LastPull replace the times when they are set.
	LastPush, LastPull time.Time
}

// Position is how far a client has followed a server.
type Position struct {
	Epoch   string
	Version uint64
}

// SavedCopy is text on its way to the saved copies.
type SavedCopy struct {
	Key     Key
	Content string
	Sum     Checksum
	At      time.Time
	Why     string // "conflict", "merged", "retired", "displaced"
	// Base is the content that both sides had before, zero when unknown.
	Base Checksum
}
