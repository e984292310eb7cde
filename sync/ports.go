package sync

import (
	"context"

	"github.com/teammem/teammemd/api"
)

// Tree is the local directory. It refuses whatever is not a plain file inside
// the root, follows no link, and never leaves a file of its own where an agent
// reads. One goroutine uses a Tree at a time.
type Tree interface {
	// Snapshot lists every file that takes part, with the checksum of its
	// settled content, and every file that is held and why. It returns
	// [api.ErrRootMissing] (wrapped) when there is no root.
	Snapshot(ctx context.Context, how api.Reading) (api.Snapshot, error)
	// Load reads one file whole. The content it returns was stable by the rule
	// of how, and Sum is its checksum. [api.ErrUnsettled], or fs.ErrNotExist when
	// the file is gone. A file that has become unfit is a *[api.HeldError].
	Load(ctx context.Context, key api.Key, how api.Reading) (api.Loaded, error)
	// Place puts contents into the tree in the order of SYNC.md: temporary
	// file, fsync, exchange, inspect what was displaced, save it durably when
	// unknown, fsync of the directory. When it returns, every placement whose
	// outcome has no error is durable. Outcomes match placements by index.
	Place(ctx context.Context, placements []api.Placement) []api.Placed
	// Retire moves a file out of the tree into the saved copies, durably.
	// Absence is a success. The file is left alone, with [api.ErrUnsettled], when
	// its checksum is not in known.
	Retire(ctx context.Context, key api.Key, known []api.Checksum) error
}

// Disk is what a loss of power spares of the tree.
type Disk interface {
	// Persist makes the files of keys durable as they are now, contents and
	// names; of a file that is gone, its absence. A file that changes meanwhile
	// is durable as it was or as it is by then. Errors match keys by index.
	Persist(ctx context.Context, keys []api.Key) []error
}

// Remote is the server, for one repo. Errors wrap the sentinels of package api.
type Remote interface {
	// Hashes returns the current view, or one with NotModified set when its
	// checksum is known. [api.ErrNotFound] for a repo without data.
	Hashes(ctx context.Context, known api.Checksum) (*api.View, error)
	// Confirm tells the server that this client keeps nothing that was redacted up to
	// a position of its, whose checksum is known.
	Confirm(ctx context.Context, at api.Position, known api.Checksum) error
	// Push sends one batch, all or nothing. A repeated batch whose result holds
	// already succeeds.
	Push(ctx context.Context, batch api.Batch) (api.Pushed, error)
	// Pull returns the contents of keys (nil: of all keys), each verified
	// against its checksum. Keys that the server does not have are left out.
	Pull(ctx context.Context, keys []api.Key) (api.Pulled, error)
	// Follow calls notify with the server's position at once and after every
	// change, lost or doubled ones included, until the connection ends or ctx
	// does. [api.ErrNotFound] when the server offers no way to follow it: the
	// engine then polls.
	Follow(ctx context.Context, notify func(api.Position)) error
}

// State is what survives a restart. Every method is durable when it returns
// nil. One goroutine uses a State at a time.
type State interface {
	// Load returns everything that was committed.
	Load(ctx context.Context) (api.Memory, error)
	// Commit records changes, all or none.
	Commit(ctx context.Context, change api.Record) error
	// Save keeps a copy of text that is about to be displaced and returns its
	// id; the same key and content again return the same id. A content that was
	// purged is not kept: the id is then "".
	Save(ctx context.Context, saved api.SavedCopy) (id string, err error)
	// Purge takes away every saved copy and every kept text with one of these
	// contents, and remembers the sums: such contents are not kept again. Purging
	// twice is a success.
	Purge(ctx context.Context, sums []api.Checksum) error
}

// Texts keeps the texts of bases, so that two edits of one text can be merged.
// Nothing depends on it but merges: it need not be durable. One goroutine uses
// it at a time.
type Texts interface {
	// Keep stores a text, as well as it can.
	Keep(ctx context.Context, sum api.Checksum, text string) error
	// Text returns a text that was kept, checked against its checksum.
	// fs.ErrNotExist (wrapped) when there is none.
	Text(ctx context.Context, sum api.Checksum) (string, error)
}

// Guard is the secret scanner. It may be asked from several goroutines at once.
type Guard interface {
	// Check returns what keeps content from travelling, and, marked by
	// [api.Finding.Allowed], what would if nobody had let it pass; nil for clean.
	// vouched is what the server says of its own content of the key.
	// A *[api.HeldError] says why content could not be judged: it is then held.
	// Any other error means that nothing can be judged now: nothing is pushed.
	Check(ctx context.Context, key api.Key, content string, vouched api.Vouched) ([]api.Finding, error)
	// Rules names all that Check judges by. When it differs from what a state
	// remembers, everything is judged again. It is asked once a cycle, after the
	// server's view came; "" says that it cannot be named now.
	Rules() string
}
