// Package api is the wire contract between teammemd's clients and servers: the
// nouns ([Repo], [Key], [Checksum]), the messages of the team-memory protocol,
// their limits, and the one table of errors.
//
// It promises that a value of a noun type was checked when it was made: a [Key]
// that exists is safe to join to a directory, a [Repo] is in its canonical
// spelling. It does no I/O and imports nothing of ours, so that every other
// package may import it.
//
//	repo, err := api.ParseRepo("acme/api")
//	key, err := api.ParseKey("notes/deploy.md")
//	sum := api.Sum([]byte("text"))
package api
