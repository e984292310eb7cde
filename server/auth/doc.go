// Package auth says who a caller is and what they may do: tokens, the repos and
// the role that each grants, and the single-use codes that people join with.
//
// It promises that a secret is random, is shown once, is stored only as its
// SHA-256, and that a revocation acts within a second, whichever process made
// it. It does not look at requests: the doors read the header and ask.
//
//	a := auth.New(backend, auth.Options{Log: log})
//	go a.Run(ctx)
//	grant, err := a.Authenticate(ctx, secret)
//	if grant.Role(repo) < api.Writer { ... }
//
// Why it is built so stands in DESIGN.md beside this file.
package auth
