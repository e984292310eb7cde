// Package core is the one write path and the one read path of the server. Every
// door pushes and reads through it, so that every write is checked, scanned for
// secrets and recorded in the same way, and every read comes from the same
// cached heads.
//
// A write goes through four steps: [Core.Push] checks what can be judged
// without state, scans contents and keys outside of any lock, lets the pure
// function decide judge the request against the repo's head inside
// [store.Store.Update], and tells the [Hub] what was committed. A refused write
// changes nothing, and its error names every fault at once.
//
// Core knows no HTTP and no backend. It never logs or returns the content of an
// entry, or a value that the scanner found.
//
//	c, err := core.New(core.Options{Store: backend, Scan: scan, Rules: rules})
//	answer, err := c.Push(ctx, core.Push{Repo: repo, Request: request, Role: role})
package core
