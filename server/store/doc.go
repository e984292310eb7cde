// Package store is the contract between the server and its databases. This
// page is the specification; storetest checks it on every backend.
//
// # What is kept
//
// A store holds repos. A repo is a set of live entries, the tombstones of keys
// that were retired, an append-only list of versions, and a version number that
// grows by exactly one with every committed change that altered something. A
// body is kept once per repo and content, referenced by the versions that had
// it; the head keeps only its hash. A repo comes into being with its first
// committed change and is never removed.
//
// A store also holds credentials, which are tokens and join codes, and accounts:
// people, their sign-ins, and the tokens that come of them. Secrets are kept by
// their SHA-256, never themselves.
//
// # Writing
//
// [Store.Update] is the only way to change a repo. It calls decide with the
// current head under the repo's write lock, and commits the [Change] that
// decide returned: all of it or none, in one transaction. decide is a pure
// function of the [Tx] it gets: it does no I/O of its own and may be called
// more than once, the last call counts. When Update returns nil the change
// survives a crash of the process and of the machine. When it returns an error
// that decide returned, nothing was changed. Any other error says that the
// outcome is unknown: read before you retry.
//
// Updates of one repo are ordered; each sees the result of those before it. A
// change without effects (no puts, no retirements) commits nothing and leaves
// the version as it is.
//
// # Reading
//
// A [Head] is an immutable snapshot. [Store.Head] answers from memory where it
// can; in the process that wrote, it never answers a state older than the last
// Update that returned. Reads see committed changes only, whole changes at a
// time.
//
// # Concurrency
//
// All methods may be called from any goroutine. A store on files refuses to be
// opened for serving by two processes at a time; credentials may be changed by
// another process while it is open (`server token` does so).
//
// # Epoch
//
// The epoch is a random string, made when the store is created and made anew
// when it is restored from a backup. Clients compare it to tell a restored
// server from one that merely went on.
package store
