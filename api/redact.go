package api

import "time"

// MinRedactBytes is the shortest value that [RedactRequest.Value] may be, in
// bytes: shorter ones are in texts by chance.
const MinRedactBytes = 8

// RedactRequest is the body of a POST to [PathRedact] (maintainers). It names the
// contents by Key and Version, or as all that hold Value.
type RedactRequest struct {
	Repo    Repo   `json:"repo"`
	Key     string `json:"key,omitempty"`
	Version uint64 `json:"version,omitempty"`
	// Value is what leaked. It is never logged, stored or answered.
	Value string `json:"value,omitempty"`
	// Retire retires live keys with such a content. Without it a Value in a live
	// content is replaced by [RedactedText], and a Version that is live is refused.
	Retire bool `json:"retire,omitempty"`
	// DryRun finds and reports, and changes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// RedactedText takes the place of a value that was redacted.
const RedactedText = "[redacted]"

// RedactAnswer is the 200 of [PathRedact].
type RedactAnswer struct {
	Repo Repo `json:"repo"`
	// Version is the repo's after the redaction.
	Version uint64 `json:"version"`
	// Contents is how many different contents are gone, 0 where nothing was found.
	Contents int `json:"contents"`
	// Versions are those that had one, as they were; newest first.
	Versions []VersionInfo `json:"versions"`
	// Live says what became of live keys that had one: "replaced" or "retired".
	Live map[string]string `json:"live,omitempty"`
	// Scrubbed says that the server's files were cleaned of what is gone; else
	// Unscrubbed says why not.
	Scrubbed   bool   `json:"scrubbed"`
	Unscrubbed string `json:"unscrubbed,omitempty"`
	DryRun     bool   `json:"dry_run,omitempty"`
	// Reports say where the contents had gone; [PathRedactions] has them later. Most
	// redactions have one, and more where somebody wrote the value again meanwhile.
	Reports []RedactionReport `json:"reports,omitempty"`
}

// RedactionsAnswer is the 200 of [PathRedactions], newest first.
type RedactionsAnswer struct {
	Repo       Repo              `json:"repo"`
	Redactions []RedactionReport `json:"redactions"`
}

// RedactionReport says where the contents that a redaction took away had gone, and
// who has cleaned up since.
type RedactionReport struct {
	// ID is the repo's version that the redaction made.
	ID    uint64    `json:"id"`
	At    time.Time `json:"at"`
	Actor Actor     `json:"actor"` // who redacted
	// Contents is how many different contents it took away.
	Contents int `json:"contents"`
	// Versions are those that had one, newest first, as far as the audit row says it.
	Versions []uint64 `json:"versions"`
	// Devices are the checkouts that were answered such a version or a later one, open
	// ones first. Only the question for one redaction has them.
	Devices []RedactionDevice `json:"devices,omitempty"`
	// Confirmed and Open count them.
	Confirmed int `json:"confirmed"`
	Open      int `json:"open"`
	// NotReached counts the checkouts of the repo that never came so far.
	NotReached int `json:"not_reached"`
	// Full says that the repo has more devices than are kept: there may be others.
	Full bool `json:"full,omitempty"`
}

// RedactionDevice is one checkout that may have a copy of what was redacted.
type RedactionDevice struct {
	// Actor is who it says it is, without agent and session; empty once they were
	// erased.
	Actor Actor `json:"actor"`
	// Seen is when it was seen last, to some minutes.
	Seen time.Time `json:"seen"`
	// Pulled is the newest version that it was answered.
	Pulled uint64 `json:"pulled"`
	// ConfirmedAt is when it had cleaned its state and saved copies, at the latest;
	// zero while it has not said so.
	ConfirmedAt time.Time `json:"confirmed_at,omitzero"`
	// Nameless says that its client sends no device id, and so cannot confirm: a
	// base client, or a script. Each credential counts as one.
	Nameless bool `json:"nameless,omitempty"`
}
