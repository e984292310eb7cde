package store

import (
	"context"
	"time"

	"github.com/teammem/teammemd/api"
)

// MaxDevices bounds the devices that are kept of one repo: a client that draws a
// new id for every request must not fill the database.
const MaxDevices = 10_000

// DeviceRetention is how long a device is kept that nobody saw.
const DeviceRetention = 90 * 24 * time.Hour

// DeviceID is what a checkout calls itself: drawn at random where its state is
// kept, so that it says nothing by itself and differs from repo to repo.
type DeviceID [16]byte

// Device is one checkout that syncs with a repo.
type Device struct {
	ID DeviceID
	// Actor is who it said it is, when it was recorded last; empty once they were
	// erased. It has no agent and no session.
	Actor api.Actor
	// Nameless says that the client sends no id: ID stands for its credential, and
	// it can confirm nothing.
	Nameless bool
	First    time.Time // when it was seen first, UTC, to the millisecond
	Seen     time.Time // and last
	// Epoch is the store's that the numbers below were counted in.
	Epoch string
	// Pulled is the newest version of the repo that it was answered.
	Pulled uint64
	// Cleaned is the newest version whose ledger of redactions it has carried out, 0
	// for none, and CleanedAt when it first said so.
	Cleaned   uint64
	CleanedAt time.Time
}

// Devices keeps which checkouts sync with a repo, for whoever asks where a content
// went. What is recorded may be some minutes late, and nothing depends on it but
// reports.
type Devices interface {
	// RecordDevices adds what was seen of devices to what is known of them: Seen,
	// Pulled and Cleaned grow within an epoch, and begin anew where a later sighting
	// is of another one. Repos that were never written are left out, and so are
	// devices beyond [MaxDevices] of a repo.
	RecordDevices(ctx context.Context, seen map[api.Repo][]Device) error
	// Devices lists those of a repo, by id; none for a repo that was never written.
	Devices(ctx context.Context, repo api.Repo) ([]Device, error)
	// ForgetDevices drops those that nobody saw since before, in every repo, and
	// returns how many.
	ForgetDevices(ctx context.Context, before time.Time) (int, error)
}
