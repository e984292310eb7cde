// Package planted lists mistakes that the proof makes on purpose, to see that
// the suites have teeth. Each name marks one place in the engine or at its edges
// where, in a build with the tag "planted", the environment variable
// TEAMMEMD_PLANTED puts the mistake in. Without the tag [In] is constantly
// false, and the compiler leaves the mistake out.
//
//	if planted.In(planted.NoPrecondition) {
//		expect = nil
//	}
//
// It is no feature switch: nothing but a mistake may stand behind it.
package planted

// Variable is the environment variable that puts a mistake in, in a build with
// the tag.
const Variable = "TEAMMEMD_PLANTED"

// Bug names a mistake.
type Bug string

// The mistakes, and what each breaks.
const (
	// OverflowIgnored: lost file events are not followed by a scan.
	OverflowIgnored Bug = "overflow-ignored"
	// NotRearmed: a root that was replaced is not watched again.
	NotRearmed Bug = "not-rearmed"
	// NoPrecondition: a push overwrites whatever the server has.
	NoPrecondition Bug = "no-precondition"
	// StateFirst: the base is recorded before the file is in place.
	StateFirst Bug = "state-first"
	// RenameOver: a pulled file is renamed over the old one, unseen.
	RenameOver Bug = "rename-over"
	// OtherBuffer: the file is read again after it was scanned for secrets.
	OtherBuffer Bug = "other-buffer"
	// SignedOutDrops: what could not be sent for a 401 counts as sent.
	SignedOutDrops Bug = "signed-out-drops"
	// CopyInTree: saved copies are written into the team directory.
	CopyInTree Bug = "copy-in-tree"
	// PullFirst: the pull trusts what an earlier scan saw.
	PullFirst Bug = "pull-first"
	// AbsenceDeletes: what the server lost is removed here.
	AbsenceDeletes Bug = "absence-deletes"
	// UnknownDropped: unknown bytes that were displaced are not saved.
	UnknownDropped Bug = "unknown-dropped"
	// TornRead: a file that changes while it is read counts as read.
	TornRead Bug = "torn-read"
	// NoFsync: a file enters the tree before its bytes are durable.
	NoFsync Bug = "no-fsync"
	// LooseBase: a text that was sent counts as agreed on before its file is
	// durable.
	LooseBase Bug = "loose-base"
	// StateNotDurable: a record is acknowledged before it is durable.
	StateNotDurable Bug = "state-not-durable"
	// TombIgnored: a retired key is sent again.
	TombIgnored Bug = "tomb-ignored"
	// BackupAccepted: a server that went back is followed without a word.
	BackupAccepted Bug = "backup-accepted"
	// VerdictBlocks: one refused key keeps its whole batch back.
	VerdictBlocks Bug = "verdict-blocks"
	// BatchUnbounded: everything goes in one batch.
	BatchUnbounded Bug = "batch-unbounded"
	// GivesUp: after a quarter of an hour of failures nothing is tried again.
	GivesUp Bug = "gives-up"
	// EmptySent: an emptied file is sent at once.
	EmptySent Bug = "empty-sent"
	// NotFoundIsEmpty: a 404 is read as an empty server.
	NotFoundIsEmpty Bug = "not-found-is-empty"
	// FalseInSync: the state says in sync while something is pending.
	FalseInSync Bug = "false-in-sync"
	// StaleStatus: the status knows only what the last cycle saw.
	StaleStatus Bug = "stale-status"
	// Rewrites: identical content is written again.
	Rewrites Bug = "rewrites"
	// NoMaxWait: constant writing delays a push for ever.
	NoMaxWait Bug = "no-max-wait"
	// LeakyLog: a line of the log, at its loudest, has the text in which a secret
	// was found.
	LeakyLog Bug = "leaky-log"
	// LeakyError: the reason of a finding quotes what was found.
	LeakyError Bug = "leaky-error"
)

// Bugs lists all of them.
func Bugs() []Bug {
	return []Bug{
		OverflowIgnored, NotRearmed, NoPrecondition, StateFirst, RenameOver, OtherBuffer, SignedOutDrops, CopyInTree,
		PullFirst, AbsenceDeletes, UnknownDropped, TornRead, NoFsync, LooseBase, StateNotDurable, TombIgnored, BackupAccepted,
		VerdictBlocks, BatchUnbounded, GivesUp, EmptySent, NotFoundIsEmpty, FalseInSync, StaleStatus, Rewrites, NoMaxWait,
		LeakyLog, LeakyError,
	}
}
