package control

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/teammem/teammemd/api"
)

// Schema is the value of every report's schema field. It changes when a field
// is taken away or changes its meaning, not when one is added.
const Schema = 1

// List is a slice that is never null in JSON.
type List[T any] []T

// MarshalJSON encodes nil as [].
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // whoever encodes the whole decides about that
	if err := enc.Encode([]T(l)); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// RootReport is the outcome of one cycle of one root, and what `sync --json`
// prints.
type RootReport struct {
	Schema int      `json:"schema"`
	Repo   api.Repo `json:"repo"`
	// Root is the team directory, absolute.
	Root string `json:"root"`
	// Server is the URL of the root's server.
	Server string `json:"server"`
	// State is a state word of package sync, such as "in-sync".
	State string `json:"state"`
	// Sent, Received, Unchanged, Restored and Pending count keys.
	Sent      int `json:"sent"`
	Received  int `json:"received"`
	Unchanged int `json:"unchanged"`
	Restored  int `json:"restored"`
	Pending   int `json:"pending"`
	// PendingKeys are the first few of the pending keys.
	PendingKeys []string `json:"pending_keys,omitempty"`
	// Total counts what the process that answers has moved since it opened the
	// root.
	Total Moved `json:"total"`
	// Held are the keys that stay local, and why; Conflicts the saved copies that
	// nobody has read.
	Held      List[Held]     `json:"held"`
	Conflicts List[Conflict] `json:"conflicts"`
	// Version and Epoch are the server's, as last seen.
	Version    uint64 `json:"version"`
	Epoch      string `json:"epoch"`
	DurationMS int64  `json:"duration_ms"`
	// Notices are sentences that a person is told once in the life of a root.
	Notices []string `json:"notices,omitempty"`
	// Error is one line for people when the state is not good, and Code the exit
	// code that it stands for.
	Error string `json:"error,omitempty"`
	Code  int    `json:"code,omitempty"`
}

// Moved counts keys.
type Moved struct {
	Sent     int `json:"sent"`
	Received int `json:"received"`
	Restored int `json:"restored"`
}

// Held is one key that stays local, or one finding in it. Line and Column are
// 1-based, 0 where the reason is not about a place.
type Held struct {
	Key    string `json:"key"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Rule   string `json:"rule"`
	Tier   string `json:"tier"`
	Reason string `json:"reason"`
	// Detail says more in one clause, without content.
	Detail string `json:"detail,omitempty"`
	// More counts further findings in the same file.
	More int `json:"more,omitempty"`
	// Fix is a command or a clause that says how to end it.
	Fix string `json:"fix"`
}

// Conflict is one saved copy made because both sides had changed.
type Conflict struct {
	ID      string    `json:"id"`
	Key     string    `json:"key"`
	SavedAt time.Time `json:"saved_at"`
}

// Status is the daemon at one moment, and what `status --json` prints.
type Status struct {
	Schema int `json:"schema"`
	// State is the worst of the roots' state words.
	State string `json:"state"`
	// Identity is whom versions on the server name as their author from here:
	// person@device.
	Identity string `json:"identity"`
	// Server is the URL, "" when the roots have several.
	Server string           `json:"server"`
	Roots  List[RootStatus] `json:"roots"`
	// Allowed are the findings that a person let pass on this machine.
	Allowed List[Allowance] `json:"allowed"`
	// Log is where the daemon writes its log: the path of a file, or "journal:"
	// and the name of its unit; "" where it cannot be told.
	Log string `json:"log,omitempty"`
}

// Allowance is a finding that a person reviewed and let pass on one machine. It
// holds nothing of what was found.
type Allowance struct {
	ID   string   `json:"id"`
	Repo api.Repo `json:"repo"`
	// Key and Line say where it was found then; it counts wherever the same value
	// stands in the repo.
	Key       string    `json:"key"`
	Line      int       `json:"line"`
	Rule      string    `json:"rule"`
	Tier      string    `json:"tier"`
	Reason    string    `json:"reason"`
	At        time.Time `json:"at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// RootStatus is one root within a [Status].
type RootStatus struct {
	RootReport
	// LastPush and LastPull are when a key last went or came.
	LastPush time.Time `json:"last_push,omitzero"`
	LastPull time.Time `json:"last_pull,omitzero"`
	// NextRetry is set while the root waits after a failure.
	NextRetry time.Time `json:"next_retry,omitzero"`
	// PausedSince is set while the root is paused, PausedUntil where the pause
	// ends by itself.
	PausedSince time.Time `json:"paused_since,omitzero"`
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Watch is "events", "polling" or "missing".
	Watch string `json:"watch"`
	// WatchReason is one clause on why it is not "events", and WatchRemedy the
	// command that would lift a limit of the system, "" where there is none.
	WatchReason string `json:"watch_reason,omitempty"`
	WatchRemedy string `json:"watch_remedy,omitempty"`
	// Progress is of the cycle under way, once it knows what there is to do.
	Progress Progress `json:"progress,omitzero"`
}

// Progress counts the keys that a cycle moves.
type Progress struct {
	Done    int `json:"done"`
	Planned int `json:"planned"`
}

// Mode restricts a manual cycle.
type Mode string

// The modes. The zero value is both ways.
const (
	Both Mode = ""
	Pull Mode = "pull"
	Push Mode = "push"
)

// SyncRequest asks for one full cycle now.
type SyncRequest struct {
	// Root is the registered root's id.
	Root string `json:"root"`
	Mode Mode   `json:"mode,omitempty"`
	// DryRun reports what would be done.
	DryRun bool `json:"dry_run,omitempty"`
	// Resolve says how to go on after the server was restored or replaced:
	// "accept-server" or "reupload".
	Resolve string `json:"resolve,omitempty"`
}
