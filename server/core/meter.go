package core

import "time"

// Meter is told what happens here, for whoever counts it. Its methods are called
// from any goroutine and return at once. No argument tells which repo it is
// about.
type Meter interface {
	// Wrote says that a write was accepted, and how many entries it put and retired.
	Wrote(entries, retired int)
	// Found says that a write had a finding of a tier, "" for a text that could not
	// be judged, and whether it was let pass. One of tier warn always is; a text that
	// is known from an earlier write is not told again.
	Found(tier string, allowed bool)
	// Scanned says how long the scanner took for one text.
	Scanned(took time.Duration)
	// Rescanning says how many repos wait to be judged anew.
	Rescanning(repos int)
	// Rescanned says how many live entries were judged anew, and how many of them
	// are marked.
	Rescanned(entries, marked int)
}

// unmetered counts nothing.
type unmetered struct{}

func (unmetered) Wrote(int, int)        {}
func (unmetered) Found(string, bool)    {}
func (unmetered) Scanned(time.Duration) {}
func (unmetered) Rescanning(int)        {}
func (unmetered) Rescanned(int, int)    {}

// Stats are numbers of the moment.
type Stats struct {
	Views      int // repos with a view in memory
	ViewsBytes int // what these views take, roughly
	Listeners  int // subscriptions to the hub
}

// Stats returns how much is in memory.
func (c *Core) Stats() Stats {
	views, used := c.views.size()
	return Stats{Views: views, ViewsBytes: used, Listeners: c.hub.listeners()}
}
