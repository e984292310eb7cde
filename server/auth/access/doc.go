// Package access decides what the bearer of a grant may do in a repo, under which
// name the repo's data is kept, and until when that may be believed.
//
// A service token says itself what it may. For a person it is the stronger of what
// a policy file gives and what the forge that vouches for them says of the
// repository, never more than the bounds of their token. A permission of the forge
// is believed for [YesLife], the lack of one for [NoLife]. While the forge cannot
// be asked the last known permission counts, for at most [OutageLife] after it was
// confirmed, and is never widened. What cannot be found out is
// [api.ErrUnavailable], never a role.
//
// Data belongs to a repository of the forge, not to a name: [store.Names] is told
// of each that is seen.
//
//	a := access.New(access.Options{People: people, Forge: f, Names: backend, Policy: file})
//	go a.Run(ctx)
//	d, err := a.Decide(ctx, grant, repo)
package access
