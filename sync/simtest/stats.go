package simtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Stats counts what happened in histories.
type Stats struct {
	Histories, Operations, Ambushes                      int
	Kills, Crashes                                       int // of a process; of a machine's power
	Cycles, Effects, Messages                            int
	Pushes, Confirmed, Staged, Copies, Conflicts, Merges int
	Storms, Glances                                      int            // of writes, and at the status, that were judged
	InTime, Later                                        int            // clients that were judged by the words of invariant 3, and later
	Faults                                               map[string]int // that were met, by kind
	Longest                                              int            // effects of one history
	LongestSeed                                          uint64
}

func (s *Stats) fault(kind Kind) { s.reply(string(kind)) }
func (s *Stats) reply(name string) {
	if s.Faults == nil {
		s.Faults = map[string]int{}
	}
	s.Faults[name]++
}

// Add takes in the counts of others.
func (s *Stats) Add(o Stats) {
	s.Histories += o.Histories
	s.Operations += o.Operations
	s.Ambushes += o.Ambushes
	s.Kills += o.Kills
	s.Crashes += o.Crashes
	s.Cycles += o.Cycles
	s.Effects += o.Effects
	s.Messages += o.Messages
	s.Pushes += o.Pushes
	s.Confirmed += o.Confirmed
	s.Staged += o.Staged
	s.Copies += o.Copies
	s.Conflicts += o.Conflicts
	s.Merges += o.Merges
	s.InTime += o.InTime
	s.Later += o.Later
	s.Storms += o.Storms
	s.Glances += o.Glances
	for name, n := range o.Faults {
		if s.Faults == nil {
			s.Faults = map[string]int{}
		}
		s.Faults[name] += n
	}
	if o.Longest > s.Longest {
		s.Longest, s.LongestSeed = o.Longest, o.LongestSeed
	}
}

// String is a paragraph for people.
func (s *Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories, %d operations (%d in the midst of work), %d kills, %d power losses, %d conflicts, %d merges, %d saved copies, ",
		s.Histories, s.Operations, s.Ambushes, s.Kills, s.Crashes, s.Conflicts, s.Merges, s.Copies)
	fmt.Fprintf(&b, "%d clients settled within debounce and two polls, %d waited by a rule, %d storms of writes, %d glances at the status, ", s.InTime, s.Later, s.Storms, s.Glances)
	fmt.Fprintf(&b, "%d cycles, %d effects, %d messages of which %d pushes, longest history: seed %d with %d effects; faults met:",
		s.Cycles, s.Effects, s.Messages, s.Pushes, s.LongestSeed, s.Longest)
	for _, name := range slices.Sorted(maps.Keys(s.Faults)) {
		fmt.Fprintf(&b, " %s %d,", name, s.Faults[name])
	}
	return strings.TrimSuffix(b.String(), ",")
}

// Stats returns the counts of this history.
func (w *World) Stats() Stats {
	s := w.stats
	s.Histories, s.Longest, s.LongestSeed = 1, s.Effects, w.history.Seed
	return s
}

// FaultNames lists the faults that [Stats].Faults counts.
func FaultNames() []string {
	names := map[string]bool{}
	for _, kind := range []Kind{
		SecondDaemon, ClockJump, TreeFull, StateFull, CopiesFull, TreeBroken, StateBroken, GuardBroken,
		RootGone, RootAway, RootEmptied, EventsLost, EventsTwice, Redeliver, Outage, ServerRestart, Restore, PlantSecret, Hostile,
	} {
		names[string(kind)] = true
	}
	for _, r := range replies {
		names[r.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
