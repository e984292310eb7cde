package main

import "testing"

func TestTrimmer(t *testing.T) {
	const mib = 1 << 20
	type look struct {
		held  uint64 // MiB, before
		after uint64 // MiB, when it trims
		busy  bool
		trims bool
	}
	looks := []look{
		{held: 30},                         // growing
		{held: 30, busy: true},             // in the middle of something
		{held: 30, after: 14, trims: true}, // the first cycle is over
		{held: 14},                         // nothing happened
		{held: 21},                         // a rescan
		{held: 21},                         // not worth it
		{held: 23},                         // growing
		{held: 23, after: 15, trims: true}, // worth it
		{held: 12},                         // the runtime gave back by itself
		{held: 20},
		{held: 20, after: 20, trims: true}, // all of it is needed
		{held: 20},
	}
	var now look
	trimmed := 0
	tr := &trimmer{}
	tr.held = func() uint64 {
		if trimmed > 0 {
			return now.after * mib
		}
		return now.held * mib
	}
	tr.give = func() { trimmed++ }
	for i, l := range looks {
		now, trimmed = l, 0
		tr.look(l.busy)
		if got := trimmed == 1; got != l.trims || trimmed > 1 {
			t.Errorf("look %d at %d MiB: trimmed %d times, want %v", i, l.held, trimmed, l.trims)
		}
	}
}

func TestMemoryHeld(t *testing.T) {
	if held := memoryHeld(); held < 1<<20 || held > 1<<34 {
		t.Errorf("%d bytes", held)
	}
}
