// Package watcher says when a directory should be read again.
//
// Events are hints, scans are the truth: a [Hint] names a root, never what
// changed in it, and may come too often. The promise is the other way round: no
// change stays without a hint for longer than the rescan interval, and usually
// not longer than the debounce, whatever happens to the directory: nested
// folders filled before they could be watched, a queue that overflowed, the root
// deleted, renamed, recreated or not there yet, a limit of the system, a file
// system without events. Where events are not to be had, that root is polled.
//
//	w := watcher.New(watcher.Options{Logger: log})
//	w.Add("api", "/home/ada/.claude/projects/-home-ada-api/memory/team")
//	go w.Run(ctx)
//	for hint := range w.Settled() { ... }
package watcher
