package api

import "time"

// View is the server's side at one moment.
type View struct {
	NotModified bool // only Epoch and Version are set beside it
	// Base is true for a server without our additions: no preconditions per
	// key, no epoch.
	Base     bool
	Epoch    string
	Version  uint64
	Checksum Checksum
	Sums     map[Key]Checksum
	Tombs    map[Key]uint64
	Redacted []Checksum
	// Allowed are the findings that people let pass in the contents of Sums: key
	// to rule to reason.
	Allowed map[Key]map[string]string
	// Invalid counts keys that the server sent and that are no keys.
	Invalid []string
}

// Batch is one PUT.
type Batch struct {
	Entries []Outgoing // sorted by key
	// IfMatch guards the whole repo; used with base servers, which know no
	// preconditions per key.
	IfMatch Checksum
}

// Outgoing is one entry of a [Batch].
type Outgoing struct {
	Key     Key
	Content string
	Sum     Checksum
	// Expect is the precondition as it travels: "sha256:<hex>", "" for absence,
	// or "tombstone:<version>".
	Expect string
	// Allowed are the findings in it that a person let pass: rule to reason.
	Allowed map[string]string
}

// Pushed is the answer to a [Batch].
type Pushed struct {
	Epoch    string
	Version  uint64
	Checksum Checksum
	Ignored  []Key // retired keys, left out by the server
	// Unchanged says that everything held already: the server wrote nothing.
	Unchanged bool
}

// Pulled is the answer to a pull.
type Pulled struct {
	Entries []Incoming
	Invalid []string // keys or contents that failed their check, described
	// At is where the server was when it answered; of several answers, when it
	// gave the last. Zero: it did not say.
	At Position
}

// Incoming is one entry from the server.
type Incoming struct {
	Key      Key
	Content  string
	Sum      Checksum
	Modified time.Time
	// Allowed are the findings in it that the server says a person let pass: rule
	// to reason.
	Allowed map[string]string
}

// Vouched is what the server says of one content of a key: which findings in it
// a person let pass. The zero value says nothing.
type Vouched struct {
	Sum   Checksum          // of that content
	Rules map[string]string // rule to reason
}
