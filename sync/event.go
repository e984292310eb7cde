package sync

import (
	"github.com/teammem/teammemd/api"
)

// Event is something that happened to an engine. The core learns of the world
// through events only.
type Event interface{ event() }

// What the outside says.
type (
	// Hinted says that the directory settled after a change. Full asks for a
	// reading that trusts nothing remembered about files. Busy says that writing
	// goes on, and that the longest wait for its end is over.
	Hinted struct{ Full, Busy bool }
	// Noticed says that the server is at this position.
	Noticed struct{ At api.Position }
	// Followed says whether a connection that brings notices is up. Refused says
	// why it is not: the server does not let us follow. Only a look tells what else
	// it lets us do no more.
	Followed struct{ Up, Refused bool }
	// Asked says that a person wants a cycle now.
	Asked struct{ Mode Mode }
	// Roused says that this process did not run for a while: the machine slept,
	// or it was stopped.
	Roused struct{}
	// Ticked says that the time that [Core.Wake] named has come.
	Ticked struct{}
	// SetPaused stops cycles, or lets them go on.
	SetPaused struct{ Paused bool }
	// Resolved says how to go on after the server changed.
	Resolved struct{ How Resolution }
)

// What became of an effect. Each answers the one effect that is under way.
type (
	// Scanned answers [Scan].
	Scanned struct {
		Snapshot api.Snapshot
		Err      error
	}
	// Viewed answers [Look].
	Viewed struct {
		View *api.View
		// Rules names what the guard judges by, "" where that is not known.
		Rules string
		Err   error
	}
	// Purged answers [Purge].
	Purged struct{ Err error }
	// Confirmed answers [Confirm].
	Confirmed struct{ Err error }
	// Inspected answers [Inspect], in the order of its keys.
	Inspected struct {
		Files []Inspection
		Err   error // nothing can be judged now
	}
	// Sent answers [Send].
	Sent struct {
		Answer api.Pushed
		Err    error
	}
	// Received answers [Receive].
	Received struct {
		Entries []Arrival
		Invalid []string
		// At is where the server was by then, zero where it did not say.
		At  api.Position
		Err error
	}
	// Installed answers [Install].
	Installed struct {
		Saved   map[api.Key]string // ids of the copies asked for
		Placed  []api.Placed       // by index of Install.Placements
		Retired []error            // by index of Install.Retirements
		Err     error              // a copy could not be saved; nothing was displaced
	}
	// Committed answers [Commit].
	Committed struct {
		// Left are keys whose bases were not recorded, for want of a durable file.
		Left []api.Key
		Why  error // of Left
		Err  error // nothing was recorded
	}
)

// Inspection is one local file, read and judged.
type Inspection struct {
	Key      api.Key
	Loaded   api.Loaded
	Findings []api.Finding
	// Base is the text of the base that [Inspect] asked for; nil: not kept.
	Base *string
	Err  error // of the reading, or a *[api.HeldError] of the guard
}

// Arrival is one entry from the server, judged.
type Arrival struct {
	api.Incoming
	Findings []api.Finding
	Refusal  *api.HeldError // the guard could not judge it
}

// Effect is what the core wants done next. At most one is under way.
type Effect interface{ effect() }

// The effects.
type (
	// Scan reads the tree.
	Scan struct{ How api.Reading }
	// Look asks the server for its hashes view.
	Look struct{ Known api.Checksum }
	// Purge takes away what is kept of contents outside of the tree, and keeps
	// them from being kept again.
	Purge struct{ Sums []api.Checksum }
	// Confirm tells the server that all redactions up to a position of its were
	// carried out here. Known is the checksum of that state.
	Confirm struct {
		At    api.Position
		Known api.Checksum
	}
	// Inspect loads files and lets the guard judge the very bytes that would
	// be sent.
	Inspect struct {
		Keys []api.Key
		How  api.Reading
		// Bases names the bases whose texts are wanted for merging.
		Bases map[api.Key]api.Checksum
		// Vouched is what the server says of its contents of some of the keys.
		Vouched map[api.Key]api.Vouched
	}
	// Send pushes one batch.
	Send struct{ Batch api.Batch }
	// Receive pulls contents (nil: all) and lets the guard judge them.
	Receive struct{ Keys []api.Key }
	// Install saves copies, then displaces, in this order.
	Install struct {
		Copies      []api.SavedCopy
		Placements  []api.Placement
		Retirements []Retirement
	}
	// Commit makes a record durable, then keeps the texts of its bases: Texts
	// are at hand, others of Agreed stand in the tree.
	Commit struct {
		Record api.Record
		Texts  map[api.Checksum]string
		// Agreed are bases of files that somebody else wrote: they were sent, or
		// found equal. The files are made durable before the record.
		Agreed map[api.Key]api.Checksum
	}
)

// Retirement takes one file out of the tree.
type Retirement struct {
	Key   api.Key
	Known []api.Checksum
}

func (Hinted) event()    {}
func (Noticed) event()   {}
func (Followed) event()  {}
func (Asked) event()     {}
func (Roused) event()    {}
func (Ticked) event()    {}
func (SetPaused) event() {}
func (Resolved) event()  {}
func (Scanned) event()   {}
func (Viewed) event()    {}
func (Purged) event()    {}
func (Confirmed) event() {}
func (Inspected) event() {}
func (Sent) event()      {}
func (Received) event()  {}
func (Installed) event() {}
func (Committed) event() {}

func (Scan) effect()    {}
func (Look) effect()    {}
func (Purge) effect()   {}
func (Confirm) effect() {}
func (Inspect) effect() {}
func (Send) effect()    {}
func (Receive) effect() {}
func (Install) effect() {}
func (Commit) effect()  {}

// Mode says what one cycle does. The zero value does everything.
type Mode struct {
	NoPush bool
	NoPull bool
	DryRun bool // decide and count, change nothing
	// Manual is a person's sync: it does not wait for files to settle, and
	// tries again what the server refused before.
	Manual bool
}
