// Package memdir is the local side of a sync: a directory of memory files,
// which agents read, people edit and editors rewrite at any moment. It is the
// engine's Tree on disk.
//
// It promises that no edit is lost: a pulled content enters by exchange of two
// names, what came out is inspected, and bytes that nobody else has are saved
// durably before they go. It promises that nothing but the wanted files ever
// appears in the directory, that reads are whole (never half of a save), and
// that no link, device or hostile name leads outside. It does not decide what
// to place, and it does not watch.
//
//	tree, err := memdir.Open(memdir.Options{Root: root, Staging: dir.Staging(), Save: dir.Save})
//	err = tree.Recover(ctx) // once, before the first Snapshot
//	snapshot, err := tree.Snapshot(ctx, api.Reading{Settle: 500 * time.Millisecond})
//
// What can still be lost: bytes that a program writes into a file that it opened
// before an exchange, when the system cannot tell that it has it open (see
// [Capabilities]) and it pauses longer between two writes than [lull]. Where the
// system can tell, as Linux can, the exchange is taken back instead.
package memdir
