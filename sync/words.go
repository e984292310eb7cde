package sync

// Word is the state of one root in a word.
type Word string

// The state words.
const (
	InSync        Word = "in-sync"
	Syncing       Word = "syncing"
	Pending       Word = "pending"
	Offline       Word = "offline"
	SignedOut     Word = "signed-out"
	NoAccess      Word = "no-access"
	Paused        Word = "paused"
	Polling       Word = "polling"
	RootMissing   Word = "root-missing"
	ServerChanged Word = "server-changed"
	Halted        Word = "halted"
)
