package main

import (
	"runtime/debug"
	"runtime/metrics"

	teamsync "github.com/teammem/teammemd/sync"
)

// trimWorth is how many bytes a process must have taken from the system since
// the last trim for another one to be worth its time, some 20 ms for 10,000
// files.
const trimWorth = 8 << 20

// trimmer gives memory back that a cycle needed and that the runtime would keep
// for the next one: a daemon sits beside its user's work all day, and most of
// what a first reading takes is not needed again for hours. One goroutine uses
// it.
type trimmer struct {
	held  func() uint64 // bytes of the system that the process holds
	give  func()        // gives back what is not used
	seen  uint64        // held at the last look
	floor uint64        // the least held since the last trim
}

func newTrimmer() *trimmer { return &trimmer{held: memoryHeld, give: debug.FreeOSMemory} }

// look trims when that is worth it and nothing is going on. It is called every
// few seconds.
func (t *trimmer) look(busy bool) {
	held := t.held()
	calm := !busy && held <= t.seen
	t.seen, t.floor = held, min(t.floor, held)
	if !calm || held < t.floor+trimWorth {
		return
	}
	t.give()
	t.seen = t.held()
	t.floor = t.seen
}

// memoryHeld is what the runtime has from the system and has not given back.
func memoryHeld() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}

// busy reports whether a root is in the middle of something.
func (d *daemon) busy() bool {
	for _, root := range d.live() {
		if root.engine.Report().Word == teamsync.Syncing {
			return true
		}
	}
	return false
}
