// Package export writes what a store holds as files that other programs read:
// a git repository with a commit for each version, or a tar of Markdown with its
// history as lines of JSON. Nothing can be told from either that was redacted.
//
// Equal repos give equal bytes: commits equal hashes, tars equal files. Nothing
// of the moment or of the machine is in them.
//
//	sum, err := export.Git(ctx, backend, repo, "memory.git")
package export
