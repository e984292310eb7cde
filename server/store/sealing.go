package store

import "context"

// Sealing is how the contents of a store are kept.
type Sealing struct {
	Plain  int64 // contents as they were written
	Sealed int64 // contents that are encrypted
	Keys   int64 // data keys
}

// Rotation is what a change of keys did, counted from where it went on.
type Rotation struct {
	Wrapped  int64 // data keys that were wrapped again
	Made     int64 // data keys that are new
	Contents int64 // that were sealed anew, or for the first time
}

// Sealed is a backend that can keep contents encrypted; package seal says how.
// Where it was opened without keys it keeps them plain, and does not change a repo
// that has a data key. What is sealed is found by its column, so that both may
// stand side by side, as in a database that was begun without keys.
type Sealed interface {
	// Sealing counts.
	Sealing(ctx context.Context) (Sealing, error)
	// KeysReady says whether every data key that this process met can be unwrapped:
	// an error names a master key that is missing. It is cheap where none was.
	KeysReady(ctx context.Context) error
	// RotateKeys wraps every data key under the first master key. With contents it also
	// gives every repo a new data key, seals all contents with it, those that were
	// plain as well, and scrubs. Each step is a transaction of its own: what was
	// interrupted goes on at the next call. progress, which may be nil, is told
	// after each.
	RotateKeys(ctx context.Context, contents bool, progress func(Rotation)) (Rotation, error)
}
