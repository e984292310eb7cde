package store

import (
	"context"
	"time"

	"github.com/teammem/teammemd/api"
)

// Retention says which contents of history may go: those that both bounds let
// go. The zero value keeps all.
type Retention struct {
	// Before lets contents go that were replaced or retired before this time; zero:
	// age does not matter.
	Before time.Time
	// Keep is how many of each key's newest versions that put something stay,
	// whatever their age; 0: number does not matter.
	Keep int
}

// Pruned counts what a pruning took away.
type Pruned struct {
	Versions int   // whose content is gone
	Bodies   int   // contents that no version has any more
	Bytes    int64 // of those, of UTF-8
}

// Keeper looks after what is stored.
type Keeper interface {
	// Prune takes away the contents of old versions, never of a live entry. A content
	// stays while one version that has it stays. The versions remain, marked
	// [Version.Pruned], with who and when, so that keys stay retired and the chain of
	// audit rows stays whole. It adds an audit row where it took something.
	// [ErrNoRepo] if the repo was never written.
	Prune(ctx context.Context, repo api.Repo, r Retention, by api.Actor, at time.Time) (Pruned, error)
	// Scrub rewrites what the database still holds of deleted rows: free pages, the
	// log, dead tuples. When it returns nil no file of the store holds a content
	// that was redacted before the call, as far as the engine lets us say;
	// the backend's documentation says how far that is.
	Scrub(ctx context.Context) error
	// Erase forgets who a person is, in every repo and chain: the actors that match
	// keep their pseudonym and lose their names, and their rows in the chains lose
	// their details. It returns how many actors. Their texts stay; they belong to the
	// repo. Who comes back gets another pseudonym. An audit row in the server's chain
	// says that it was done.
	Erase(ctx context.Context, match func(api.Actor) bool, by api.Actor, at time.Time) (int, error)
	// NewEpoch gives the store a new epoch, as after a restore. Heads that are read
	// from then on have it.
	NewEpoch(ctx context.Context) error
	// Check reads everything and reports what contradicts: the engine's own check,
	// every content against its checksum, heads against history, chains against
	// their hashes. found is called for each problem. An error says that the check
	// could not be done.
	Check(ctx context.Context, found func(Problem)) error
}

// Problem is one contradiction. It quotes no content.
type Problem struct {
	Repo api.Repo // zero for the server's
	Key  api.Key  // zero where no key is concerned
	What string   // one line
}
