package pgstore

import "slices"

// ReferenceTables returns the tables that are not a repo's: small, seldom
// written, and copied to every node where the database is distributed.
func ReferenceTables() []string {
	return slices.Clone([]string{"meta", "repo_names", "repo_identities", "tokens", "join_codes", "users", "sign_ins", "families", "refresh_tokens", "data_rotation", schemaTable})
}

// RepoTables returns the tables whose key begins with the repo's number, by which
// they can be distributed.
func RepoTables() []string {
	return slices.Clone([]string{
		"repos", "bodies", "entries", "tombs", "actors", "versions", "redactions", "audit", "scan_policy", "rescans", "devices", "outbox",
		"data_keys",
	})
}
