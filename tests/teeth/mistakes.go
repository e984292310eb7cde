package main

import "github.com/teammem/teammemd/internal/planted"

// mistake is a planted bug and the tests that have to notice it.
type mistake struct {
	bug    planted.Bug
	breaks string // what a person would see, one clause
	guards []guard
}

// guard is a part of a suite: the tests whose names match.
type guard struct {
	suite string // directory of a package
	tests string // regexp over names of tests
}

// The suites.
const (
	core     = "sync"
	sim      = "sync/simtest"
	memdir   = "sync/memdir"
	statedir = "sync/statedir"
	remote   = "sync/remote"
	watch    = "watcher"
	whole    = "tests" // with the built program
)

// arguments are passed to a suite beside those of package testing: as many
// histories as a mistake may hide in, and no files written about failures.
var arguments = map[string][]string{
	core:     {"-rapid.nofailfile"},
	sim:      {"-plain", "-seeds", "10000"},
	memdir:   {"-saves", "2000"},
	statedir: {"-rapid.nofailfile"},
	watch:    {"-rapid.nofailfile"},
}

// soundSeeds are the histories of a run without a mistake. What the simulation
// says of one seed is asked again without the mistake when it is found.
var soundSeeds = []string{"-plain", "-seeds", "1000"}

// mistakes lists every bug of package planted. The first guard that bites ends a
// run without -all. The simulation has edges of its own, with the same mistakes
// in them: where it guards one of an edge, a second guard is about the real edge.
var mistakes = []mistake{
	{planted.OverflowIgnored, "after a burst of changes, some are never sent", []guard{
		{watch, "LostEventsAskForEverything"}, {watch, "F02QueueOverflow"},
	}},
	{planted.NotRearmed, "a directory that was deleted and made again is deaf", []guard{
		{watch, "F04RootDeletedAndRecreated"}, {watch, "F04RootRenamedAwayAndBack"},
	}},
	{planted.NoPrecondition, "the later of two edits replaces the earlier one unread", []guard{
		{sim, "Histories"}, {remote, "AgainstARealServer"}, {whole, "F26LateWrite"},
	}},
	{planted.StateFirst, "a crash during a pull makes the old text look like a new edit", []guard{
		{sim, "Histories"}, {core, "OneCycleBothWays|PollsWithoutNotices"}, {whole, "F11KilledSync"},
	}},
	{planted.RenameOver, "a save that falls into a pull is gone", []guard{
		{sim, "Histories"}, {memdir, "DurableOrder"}, {memdir, "F07HostileSaver"},
	}},
	{planted.OtherBuffer, "a secret leaves that was saved after the scan", []guard{
		{sim, "Histories"}, {core, "JudgedBytesAreSent"},
	}},
	{planted.SignedOutDrops, "edits made while signed out are overwritten by the next pull", []guard{
		{sim, "Histories"},
	}},
	{planted.CopyInTree, "conflict files stand where agents read", []guard{
		{sim, "Histories"}, {core, "ConflictKeepsBothTexts"},
	}},
	{planted.PullFirst, "an edit made while nothing ran is not seen before the first pull", []guard{
		{sim, "Histories"}, {core, "EditsOfTheAbsenceAreSeenFirst"}, {whole, "RestartForgetsNothing"},
	}},
	{planted.AbsenceDeletes, "a server that lost its data empties every machine", []guard{
		{sim, "Histories"}, {core, "PlanRows"}, {core, "PlanEveryState"}, {core, "PlanWalks"},
	}},
	{planted.UnknownDropped, "a text that a pull displaced is in no saved copy", []guard{
		{sim, "Histories"}, {memdir, "Place$"}, {memdir, "F07HostileSaver"},
	}},
	{planted.TornRead, "half of one save and half of the next are sent as one text", []guard{
		{sim, "Histories"}, {memdir, "ChangedDuringTheRead"},
	}},
	{planted.NoFsync, "a power loss leaves an empty file where a text was pulled", []guard{
		{sim, "Histories"}, {memdir, "DurableOrder"},
	}},
	{planted.LooseBase, "a power loss takes back what was sent, and the older text is sent over it", []guard{
		{sim, "Histories"}, {core, "LooseFilesAreNoBases"}, {memdir, "AgreedIsDurable"},
	}},
	{planted.StateNotDurable, "a power loss brings an old base back: pulled texts look edited", []guard{
		{sim, "Histories"}, {statedir, "AcknowledgedIsDurable"},
	}},
	{planted.TombIgnored, "a text that the team retired comes back", []guard{
		{sim, "Histories"}, {core, "PlanRows"}, {core, "PlanWalks"},
	}},
	{planted.BackupAccepted, "a server that was restored takes everybody back with it, silently", []guard{
		{sim, "Histories"}, {core, "ServerSetBackStopsEverything"},
	}},
	{planted.VerdictBlocks, "one refused text keeps a hundred others from the team", []guard{
		{sim, "Histories"}, {core, "VerdictsAreIsolated"},
	}},
	{planted.BatchUnbounded, "a large first push is refused by the server or a proxy", []guard{
		{core, "PackProperties"},
	}},
	{planted.GivesUp, "after a long outage nothing is sent until a restart", []guard{
		{sim, "Histories"}, {core, "MonthOffline"},
	}},
	{planted.EmptySent, "the moment between an editor's truncation and its writing empties the file for everybody", []guard{
		{sim, "Histories"}, {core, "EmptiedFileWaits"},
	}},
	{planted.NotFoundIsEmpty, "who lost access is told that the server changed, or pushes everything anew", []guard{
		{sim, "Histories"}, {core, "States"},
	}},
	{planted.FalseInSync, "the status says in sync while an edit waits", []guard{
		{sim, "Histories"}, {core, "InSyncIsTheTruth"},
	}},
	{planted.StaleStatus, "the status says in sync while an edit has not settled", []guard{
		{sim, "Histories"}, {core, "GlanceSees"},
	}},
	{planted.Rewrites, "every pull makes old memories look fresh", []guard{
		{memdir, "Place$"},
	}},
	{planted.NoMaxWait, "a file that is written all the time is never sent", []guard{
		{watch, "Debounce"}, {watch, "ConstantWritesMeetTheMaximum"},
	}},
	{planted.LeakyLog, "the log of who asks for more of it has a secret in it", []guard{
		{whole, "NothingLeaks$"}, {whole, "SecretsStayHere"},
	}},
	{planted.LeakyError, "a secret is told in the refusal, to the screen and back over the wire", []guard{
		{whole, "NothingLeaks$"}, {whole, "ServerStopsSecrets$"},
	}},
}
