package api

import "time"

// FullAnswer is the 200 of a GET: everything, a delta (since), or the named
// keys.
type FullAnswer struct {
	OrganizationID string      `json:"organizationId"`
	Repo           Repo        `json:"repo"`
	Version        uint64      `json:"version"`
	Epoch          string      `json:"epoch,omitempty"`
	LastModified   time.Time   `json:"lastModified"`
	Checksum       Checksum    `json:"checksum"`
	Content        FullContent `json:"content"`
	// Delta is true when the answer holds only what changed after the asked
	// version.
	Delta bool `json:"delta,omitempty"`
}

// FullContent is "content" of a [FullAnswer]. Keys are text as the server sent
// them: a client checks each with [ParseKey].
type FullContent struct {
	Entries        map[string]string `json:"entries"`
	EntryChecksums map[string]string `json:"entryChecksums"`
	// DeletedEntries maps a retired key to the repo's version at its retirement.
	DeletedEntries map[string]uint64 `json:"deletedEntries,omitempty"`
	// EntryModified maps a key to the time at which its content was accepted.
	EntryModified map[string]time.Time `json:"entryModified,omitempty"`
	// EntryAllowed maps a key to the findings in its content that people let pass:
	// rule to reason.
	EntryAllowed map[string]map[string]string `json:"entryAllowed,omitempty"`
}

// HashesAnswer is the 200 of the hashes view.
type HashesAnswer struct {
	Repo           Repo              `json:"repo"`
	Version        uint64            `json:"version"`
	Epoch          string            `json:"epoch,omitempty"`
	LastModified   time.Time         `json:"lastModified"`
	Checksum       Checksum          `json:"checksum"`
	EntryChecksums map[string]string `json:"entryChecksums"`
	DeletedEntries map[string]uint64 `json:"deletedEntries,omitempty"`
	// Redacted is the ledger of contents that must vanish everywhere.
	Redacted []Checksum `json:"redacted,omitempty"`
	// EntryAllowed is as in [FullContent].
	EntryAllowed map[string]map[string]string `json:"entryAllowed,omitempty"`
}

// PushRequest is the body of a PUT.
type PushRequest struct {
	Entries        map[string]string `json:"entries"`
	SoftDeleteKeys []string          `json:"soft_delete_keys,omitempty"`
	// Expect holds preconditions: key to "sha256:<hex>", "" (neither entry nor
	// tombstone), or "tombstone:<version>" (revive it).
	Expect  map[string]string `json:"expect,omitempty"`
	Allowed []Allowed         `json:"allowed,omitempty"`
}

// Allowed states that a person reviewed a finding of the third block tier.
type Allowed struct {
	Key    string `json:"key"`
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// PushAnswer is the 200 of a PUT.
type PushAnswer struct {
	Repo         Repo      `json:"repo"`
	Version      uint64    `json:"version"`
	Epoch        string    `json:"epoch,omitempty"`
	LastModified time.Time `json:"lastModified"`
	Checksum     Checksum  `json:"checksum"`
	// Ignored names retired keys whose earlier content was sent again.
	Ignored []string `json:"ignored,omitempty"`
	// Unchanged says that all of it held already: nothing was written, so that
	// Version and Checksum are the work of others.
	Unchanged bool `json:"unchanged,omitempty"`
}

// Notice is the data of one event and the answer of a long poll: that a repo
// has reached a version, never what changed.
type Notice struct {
	Repo    Repo   `json:"repo"`
	Epoch   string `json:"epoch"`
	Version uint64 `json:"version"`
}

// Actor says who wrote: each part is free text of the client, at most
// [MaxActorBytes] bytes, except Token and User, which the server fills in.
type Actor struct {
	Token   string `json:"token,omitempty"` // the credential's name
	User    string `json:"user,omitempty"`  // the id of the account that signed in, which the server fills in as well
	Person  string `json:"person,omitempty"`
	Device  string `json:"device,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
}

// VersionInfo is one row of a key's history.
type VersionInfo struct {
	Key      string    `json:"key"`
	Version  uint64    `json:"version"` // the repo's version at which it was written
	Op       string    `json:"op"`      // "put" or "retire"
	Checksum Checksum  `json:"checksum,omitzero"`
	Bytes    int       `json:"bytes"`
	At       time.Time `json:"at"`
	Actor    Actor     `json:"actor"`
	Current  bool      `json:"current"`
	Redacted bool      `json:"redacted,omitempty"`
	// Rules names the scanner's rule set that let it in.
	Rules string `json:"rules,omitempty"`
	// Allowed are the findings in it that people let pass: rule to reason.
	Allowed map[string]string `json:"allowed,omitempty"`
}

// HistoryAnswer is the 200 of [PathHistory], newest first.
type HistoryAnswer struct {
	Repo     Repo          `json:"repo"`
	Versions []VersionInfo `json:"versions"`
}

// ContentAnswer is the 200 of [PathContent]: one key as it was at one version.
type ContentAnswer struct {
	Repo     Repo     `json:"repo"`
	Key      string   `json:"key"`
	Version  uint64   `json:"version"`
	Checksum Checksum `json:"checksum"`
	Content  string   `json:"content"`
}

// RestoreRequest is the body of a POST to [PathRestore].
type RestoreRequest struct {
	Repo    Repo   `json:"repo"`
	Key     string `json:"key"`
	Version uint64 `json:"version"`
}

// SearchAnswer is the 200 of [PathSearch], best first.
type SearchAnswer struct {
	Repo    Repo   `json:"repo"`
	Version uint64 `json:"version"` // that was searched: never older than the last write before the request
	// Match is "all" where each result has all that was asked for, and "any" where
	// no entry had and these have a part.
	Match    string `json:"match"`
	Total    int    `json:"total"`    // entries that match
	Searched int    `json:"searched"` // live entries of the repo
	// Cut is of how many of them only the beginning is searched: the repo is larger
	// than the server's memory for searching.
	Cut     int            `json:"cut,omitempty"`
	Results []SearchResult `json:"results"`
}

// SearchResult is one entry that was found.
type SearchResult struct {
	Key string `json:"key"`
	// Line of the content that the snippet is about, from 1; 0 where it has no word.
	Line int `json:"line"`
	// Snippet is text of the entry in one line, escaped for nothing. Marks are what
	// was found in it: from and to in characters (code points), in order.
	Snippet  string    `json:"snippet"`
	Marks    [][2]int  `json:"marks,omitempty"`
	Score    float64   `json:"score"` // for comparison within one answer
	Modified time.Time `json:"modified"`
}

// JoinRequest is the body of a POST to [PathJoin].
type JoinRequest struct {
	Code string `json:"code"`
	// Device names the joining machine in lists of tokens.
	Device string `json:"device"`
}

// JoinAnswer carries a new token, shown once.
type JoinAnswer struct {
	Token string `json:"token"`
	Repo  Repo   `json:"repo"`
	Role  Role   `json:"role"`
}

// JoinCodeRequest is the body of a POST to [PathJoinCodes] (maintainers).
type JoinCodeRequest struct {
	Repo Repo `json:"repo"`
}

// JoinCodeAnswer is a single-use code, shown once.
type JoinCodeAnswer struct {
	Code      string    `json:"code"`
	Repo      Repo      `json:"repo"`
	Role      Role      `json:"role"`
	ExpiresAt time.Time `json:"expires_at"`
}

// WhoAmI is the 200 of [PathWhoAmI].
type WhoAmI struct {
	Name      string    `json:"name"`
	Repos     string    `json:"repos"` // the grant's pattern
	Role      Role      `json:"role"`  // "none" for a person: it differs by repo
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	// User is the id of the account of a person who signed in, Login what Issuer
	// calls them; left out for a service token.
	User   string `json:"user,omitempty"`
	Login  string `json:"login,omitempty"`
	Issuer string `json:"issuer,omitempty"`
	// Repo is the one that was asked about; Role is then the role in it.
	Repo string `json:"repo,omitempty"`
	// SignIn is the sign-in that the token is of; left out for a service token.
	SignIn *SignIn `json:"sign_in,omitempty"`
}

// SignIn is one sign-in of a person on one machine.
type SignIn struct {
	ID     string `json:"id"`
	Device string `json:"device"` // as the machine called itself
	Client string `json:"client"` // the program's client id
	User   string `json:"user"`   // the id of the account
	Login  string `json:"login,omitempty"`
	// Address is where it was last used from, as far as the server sees: an address,
	// or the network of one.
	Address   string    `json:"address,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UsedAt    time.Time `json:"used_at"` // true to about an hour
	// ExpiresAt is when it ends unless it is used before; use moves it on. There is
	// no other end.
	ExpiresAt time.Time `json:"expires_at"`
	// Current says that it is the one that asks.
	Current bool `json:"current"`
}

// SignInsAnswer is the 200 of [PathSignIns]: the live ones, oldest first, and
// after a DELETE those that it ended.
type SignInsAnswer struct {
	SignIns []SignIn `json:"sign_ins"`
}

// AuditRow is one row of a chain: who did what, and what the chain holds of it.
// Nothing that was written is in it.
type AuditRow struct {
	Number uint64    `json:"number"` // from 1, without gaps
	Action string    `json:"action"`
	At     time.Time `json:"at"`
	// Actor is empty once the person was erased; ActorID, the pseudonym, stays.
	Actor   Actor  `json:"actor"`
	ActorID string `json:"actor_id"`
	// Version is the repo's that the action made, left out for none, and Keys are
	// what it wrote or retired, without those of redacted contents.
	Version uint64   `json:"version,omitempty"`
	Keys    []string `json:"keys,omitempty"`
	Detail  string   `json:"detail,omitempty"` // JSON
	Hash    string   `json:"hash"`             // over this row and all before it: 64 hexadecimal digits
}

// AuditAnswer is the 200 of [PathAudit], oldest first.
type AuditAnswer struct {
	Repo Repo       `json:"repo,omitzero"` // left out for the server's own chain
	Rows []AuditRow `json:"rows"`
	// Next is the number to ask for more after; left out where there were no more.
	Next uint64 `json:"next,omitempty"`
}

// ServerVersion is the 200 of [PathVersion]: clients test Features, they never
// compare versions.
type ServerVersion struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Protocol int      `json:"protocol"`
	Features []string `json:"features"`
}
