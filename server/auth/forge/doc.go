// Package forge asks GitHub, GitHub Enterprise, GitLab or Gitea what a person may
// do in a repository, with that person's own token.
//
// It promises that a token goes to the forge that it is for and nowhere else,
// redirects included, and into no error and no log; that an answer which is known
// already is asked for conditionally, which costs nothing of the person's rate;
// that no request leaves before the time that the forge named; and that whatever
// it answers is bounded in time and size. It keeps no answers: the caller does.
//
//	f, err := forge.New(forge.Options{Kind: forge.GitHub})
//	answer, err := f.Permission(ctx, token, repo, forge.Answer{})
package forge
