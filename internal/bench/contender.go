package bench

import (
	"context"
	"time"
)

// contender is a program that keeps two directories equal.
type contender interface {
	// name says which program, and how it is set where that matters.
	name() string
	// begin starts it over two empty directories.
	begin(ctx context.Context, r *rig) error
	// dirs are the two directories.
	dirs() [2]string
	// settled reports whether nothing is under way any more, as far as the
	// program says so; still is how long both directories have not changed.
	settled(ctx context.Context, still time.Duration) (bool, error)
}

// keeper is a contender that keeps copies of what it displaced.
type keeper interface {
	contender
	// saved lists the copies on both sides that were not listed before.
	saved(ctx context.Context) ([]savedCopy, error)
	// restore puts a copy back where it was, as a person would.
	restore(ctx context.Context, c savedCopy) error
}

// savedCopy is one copy of displaced text.
type savedCopy struct {
	side          int // index of the directory that it was displaced from
	id, key, text string
}

// slow is a contender whose trials take so long that a few must do.
type slow interface{ mostTrials() int }
