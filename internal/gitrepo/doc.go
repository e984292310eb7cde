// Package gitrepo tells which repo a checkout belongs to, and where its main
// checkout lies, from the files that git keeps.
//
// It promises that every spelling of one remote gives one [api.Repo]: SSH,
// HTTPS, insteadOf rewrites, worktrees and submodules. It reads, it never runs
// git, never touches the network and never writes. A URL's user, password and
// query appear in no result and in no error.
//
// [Staged] reads what the next commit would have, for a hook of git.
//
// It finds the directories by itself and lets go-git's decoder read the
// configuration: opening a repository through go-git would refuse those with
// extensions that do not concern us, such as SHA-256 objects.
//
//	info, err := gitrepo.Find(".")
//	fmt.Fprintln(w, info.Repo, info.CanonicalRoot)
package gitrepo
