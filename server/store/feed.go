package store

import (
	"context"

	"github.com/teammem/teammemd/api"
)

// Feed tells of changes, whichever process made them. A backend that one
// process serves alone need not have it.
type Feed interface {
	// Follow calls changed for every committed change of a repo, with the version
	// that it made, or 0 when something beside its entries changed, such as its
	// policy; and with the zero Repo when anything may have changed: at the
	// beginning, and after the connection was lost. Several changes of one repo may
	// come as the last. It returns nil when ctx ends, and waits out failures of the
	// database by itself. By the time of a call [Store.Head] answers that version or
	// a later one, and what depends on policies has been forgotten by the store.
	Follow(ctx context.Context, changed func(repo api.Repo, version uint64)) error
}
