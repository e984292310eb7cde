package api

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
}
