package store

import "time"

// Meter is told what a backend does, for whoever counts it. Its methods are
// called from any goroutine, some of them while others wait, and return at once.
type Meter interface {
	// Committed says that one transaction carried this many updates and how long it
	// took; where ok is false the database refused it.
	Committed(updates int, took time.Duration, ok bool)
	// HeadRead says whether a head was in memory when it was asked for.
	HeadRead(cached bool)
}

// Unmetered is a [Meter] that counts nothing.
type Unmetered struct{}

// Committed implements [Meter].
func (Unmetered) Committed(int, time.Duration, bool) {}

// HeadRead implements [Meter].
func (Unmetered) HeadRead(bool) {}
