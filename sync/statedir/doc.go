// Package statedir keeps what one root must remember across restarts: the bases
// and positions of the sync engine, and the saved copies of displaced text. It
// is the engine's State on disk.
//
// It promises that what was committed is durable and survives a crash at any
// point, and that a damaged file is an error that names it, never an empty
// state. It does not decide anything, and it does not guard against a second
// process by itself: take [Dir.Lock] before the first write.
//
// The directory is 0700, its files 0600:
//
//	journal        bases, rings, positions: JSON lines, each with a checksum
//	saved/         copies: <id>.json describes, <sha256> holds the text
//	staging/       for package memdir, on the way into the tree
//	tended         empty; when retention was last applied
//	notices.json   one-time notices that were given
//	lock, pid      the lock, and who holds it
package statedir
