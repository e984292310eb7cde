package api

import (
	"errors"
	"time"
)

// This file and the two beside it, exchange.go and remembered.go, hold what the
// sync engine and its edges say to each other, so that the edges need not
// import the engine.

// ErrRootMissing is what a tree returns while its directory does not exist.
// An absent root is never read as "all files deleted".
var ErrRootMissing = errors.New("team directory is missing")

// ErrUnsettled is what a tree's Load returns for a file that changed while it was
// read, or a moment before; the next cycle tries again.
var ErrUnsettled = errors.New("file is still being written")

// Reading says what makes a read valid.
type Reading struct {
	// Settle is how long a file must have been unchanged.
	Settle time.Duration
	// Twice accepts, for a file younger than Settle, two complete reads 20 ms
	// apart that agree: a manual sync does not wait.
	Twice bool
	// Full reads every file even if its size, times and inode look as before.
	Full bool
}

// Snapshot is the local side at one moment.
type Snapshot struct {
	Files []Local    // sorted by key; settled content
	Held  []HeldFile // sorted by path; neither pushed nor displaced
}

// Local is one settled file.
type Local struct {
	Key   Key
	Sum   Checksum
	Bytes int
	// Modified is when the file last changed, by its own file system.
	Modified time.Time
}

// HeldFile is a file that takes no part, and why.
type HeldFile struct {
	Key    Key    // zero when the name itself is no key
	Path   string // relative to the root, as on disk
	Reason Reason
	Detail string // one clause for people; no content
}

// HeldError says that a file or its content is held.
type HeldError struct {
	Reason Reason
	Detail string // one clause for people; no content
}

// Error returns the reason and its detail.
func (e *HeldError) Error() string { return string(e.Reason) + ": " + e.Detail }

// Loaded is the content of one file.
type Loaded struct {
	Content string
	Sum     Checksum
}

// Placement is one content on its way into the tree.
type Placement struct {
	Key      Key
	Content  string
	Sum      Checksum  // of Content, verified again after writing
	Modified time.Time // becomes the file's modification time; zero = now
	// Expect is the content that the plan saw at the key, zero for none. With
	// none expected the file is created without replacing; if one has appeared
	// the outcome is [ErrUnsettled] and nothing was changed.
	Expect Checksum
	// Known lists checksums that may be displaced without a saved copy.
	Known []Checksum
}

// Placed is the outcome of one [Placement].
type Placed struct {
	// Saved is the id of the saved copy made of unknown bytes that were
	// displaced, "" for none.
	Saved string
	Err   error
}
