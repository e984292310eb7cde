package store

import (
	"context"
	"time"

	"github.com/teammem/teammemd/api"
)

// Policies keeps what maintainers let pass the scanner. Nothing is ever taken
// out: an entry that ends stays, with when and by whom. A repo that was never
// written may have a policy.
type Policies interface {
	// Policy returns a repo's policy, the zero Policy for none.
	Policy(ctx context.Context, repo api.Repo) (Policy, error)
	// AddPolicyEntry stores an entry, whose ID must be new. An entry about the same
	// rule and keys that has not ended ends with it: at its At, by its Actor.
	AddPolicyEntry(ctx context.Context, repo api.Repo, e api.PolicyEntry) error
	// EndPolicyEntry ends an entry, or returns [ErrNoEntry] where there is none
	// with this id in the repo that has not ended.
	EndPolicyEntry(ctx context.Context, repo api.Repo, id string, at time.Time, by api.Actor) error
}

// Policy is a repo's scan policy.
type Policy struct {
	// Revision grows with every change, 0 before the first.
	Revision uint64
	Entries  []api.PolicyEntry // oldest first, ended and expired ones included
}

// Rescans keeps what scanning the live entries again has found.
type Rescans interface {
	// Repos lists the repos that were ever written, sorted by name.
	Repos(ctx context.Context) ([]api.Repo, error)
	// Rescan returns what was last recorded of a repo, the zero Rescan for nothing.
	Rescan(ctx context.Context, repo api.Repo) (Rescan, error)
	// RecordRescan replaces what is recorded of a repo.
	RecordRescan(ctx context.Context, repo api.Repo, r Rescan) error
}

// Rescan is the outcome of scanning the live entries of one repo.
type Rescan struct {
	Rules string // the rule set that they were scanned by
	At    time.Time
	Marks []api.Mark
}
