package simtest

import (
	"fmt"
	"math/rand/v2"
)

// Kind names what happens in one operation.
type Kind string

// What people do with their editors. Arg chooses the text.
const (
	SavePlain  Kind = "save-plain"  // truncate and write in one go
	SaveTorn   Kind = "save-torn"   // truncate, then parts
	SaveAtomic Kind = "save-atomic" // write beside, rename over
	SaveVim    Kind = "save-vim"    // move the old file aside, write a new one
	Truncate   Kind = "truncate"    // leave the file empty
	Delete     Kind = "delete"
	Storm      Kind = "storm" // write all the time, for the better part of a minute
)

// What people do with the program.
const (
	Sync    Kind = "sync" // a manual one; Arg chooses the mode
	Pause   Kind = "pause"
	Resume  Kind = "resume"
	Resolve Kind = "resolve" // say how to go on after the server changed; Arg chooses
)

// What befalls a machine.
const (
	Kill         Kind = "kill"
	PowerLoss    Kind = "power-loss"
	SecondDaemon Kind = "second-daemon"
	ClockJump    Kind = "clock-jump"
	TreeFull     Kind = "tree-full"
	StateFull    Kind = "state-full"
	CopiesFull   Kind = "copies-full"
	TreeBroken   Kind = "tree-broken"  // fsync of a file or directory fails
	StateBroken  Kind = "state-broken" // fsync of the journal fails
	GuardBroken  Kind = "guard-broken"
	RootGone     Kind = "root-gone"
	RootAway     Kind = "root-away"
	RootBack     Kind = "root-back"
	RootEmptied  Kind = "root-emptied"
	EventsLost   Kind = "events-lost"
	EventsTwice  Kind = "events-twice"
)

// What befalls the network and the server.
const (
	Network       Kind = "network" // Arg chooses the answer
	StreamDown    Kind = "stream-down"
	StreamUp      Kind = "stream-up"
	Redeliver     Kind = "redeliver" // an old request arrives once more
	Outage        Kind = "outage"    // longer than a quarter of an hour
	ServerRestart Kind = "server-restart"
	Backup        Kind = "backup"
	Restore       Kind = "restore"
	LoseKey       Kind = "lose-key" // the server forgets an entry without a tombstone
	Forget        Kind = "forget"
	Revive        Kind = "revive"
	Redact        Kind = "redact"       // a content is taken away for good; Arg chooses
	PlantSecret   Kind = "plant-secret" // by somebody without our client
	Hostile       Kind = "hostile"      // contents that fail their checks
	Wait          Kind = "wait"
)

// Op is one operation. Each can be left out of a history without touching what
// the others draw.
type Op struct {
	Kind   Kind `json:"kind"`
	Client int  `json:"client,omitempty"`
	Key    int  `json:"key,omitempty"`
	Arg    int  `json:"arg,omitempty"` // 0 to 999, read by kind
	// Ambush, when not 0, puts the operation before that step of the client's
	// next work on its disk.
	Ambush int    `json:"ambush,omitempty"`
	Turns  int    `json:"turns,omitempty"` // how many small steps of clients follow
	Seed   uint32 `json:"seed"`            // of what these steps draw
}

// History is everything that a run depends on.
type History struct {
	Seed    uint64 `json:"seed"`
	Clients int    `json:"clients"`
	Keys    int    `json:"keys"`
	Twins   bool   `json:"twins,omitempty"`  // the second key is the first in other case
	Poison  bool   `json:"poison,omitempty"` // the server refuses the last key without naming it
	Big     bool   `json:"big,omitempty"`    // texts are large, so that batches fill up
	Few     bool   `json:"few,omitempty"`    // the server takes fewer keys than there are
	Merge   bool   `json:"merge,omitempty"`  // clients merge clean conflicts
	Steady  bool   `json:"steady,omitempty"` // the rules of the guards stay what they are
	Ops     []Op   `json:"ops"`
}

// share is how often a kind is drawn.
type share struct {
	kind   Kind
	weight int
	ambush bool // may happen in the midst of the client's work
}

// mix is what a history is drawn from.
var mix = []share{
	{SavePlain, 120, true},
	{SaveTorn, 60, true},
	{SaveAtomic, 120, true},
	{SaveVim, 50, true},
	{Truncate, 12, true},
	{Delete, 40, true},
	{Storm, 1, false},
	{Sync, 50, false},
	{Pause, 6, false},
	{Resume, 12, false},
	{Resolve, 14, false},
	{Kill, 40, true},
	{PowerLoss, 30, true},
	{SecondDaemon, 6, false},
	{ClockJump, 12, true},
	{TreeFull, 12, true},
	{StateFull, 12, true},
	{CopiesFull, 12, true},
	{TreeBroken, 8, true},
	{StateBroken, 8, true},
	{GuardBroken, 4, false},
	{RootGone, 4, true},
	{RootAway, 6, true},
	{RootBack, 14, true},
	{RootEmptied, 4, true},
	{EventsLost, 16, false},
	{EventsTwice, 8, false},
	{Network, 130, false},
	{StreamDown, 14, false},
	{StreamUp, 20, false},
	{Redeliver, 12, false},
	{Outage, 1, false},
	{ServerRestart, 8, false},
	{Backup, 10, false},
	{Restore, 5, false},
	{LoseKey, 6, false},
	{Forget, 24, false},
	{Revive, 16, false},
	{Redact, 10, false},
	{PlantSecret, 6, false},
	{Hostile, 6, false},
	{Wait, 110, false},
}

var mixTotal = func() (total int) {
	for _, m := range mix {
		total += m.weight
	}
	return total
}()

// Draw returns the history of a seed: 2 to 5 clients, 20 to 200 operations.
func Draw(seed uint64) History {
	r := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15))
	one := func(in int) bool { return r.IntN(in) == 0 }
	h := History{
		Seed: seed, Clients: 2 + min(r.IntN(4), r.IntN(4)), Keys: 1 + r.IntN(8),
		Twins: one(8), Poison: one(8), Big: one(64), Few: one(32), Merge: one(4),
	}
	calm := one(10) // people alone, no faults
	n := 20 + min(r.IntN(181), r.IntN(181))
	for len(h.Ops) < n {
		m := drawKind(r)
		op := Op{
			Kind: m.kind, Client: r.IntN(h.Clients), Key: r.IntN(h.Keys), Arg: r.IntN(1000),
			Turns: r.IntN(6), Seed: r.Uint32(),
		}
		if m.ambush && one(3) {
			op.Ambush = 1 + r.IntN(24)
		}
		if calm && !m.kind.isHuman() && m.kind != Wait {
			continue
		}
		h.Ops = append(h.Ops, op)
	}
	h.Steady = one(8)
	return h
}

func drawKind(r *rand.Rand) (m share) {
	at := r.IntN(mixTotal)
	for _, m = range mix {
		if at -= m.weight; at < 0 {
			break
		}
	}
	return m
}

// isHuman reports whether people do it.
func (k Kind) isHuman() bool {
	switch k {
	case SavePlain, SaveTorn, SaveAtomic, SaveVim, Truncate, Delete, Storm, Sync, Pause, Resume, Resolve, Forget, Revive, Redact:
		return true
	}
	return false
}

// isKnown reports whether there is such a kind.
func (k Kind) isKnown() bool {
	for _, m := range mix {
		if m.kind == k {
			return true
		}
	}
	return false
}

// Check reports what keeps a history from being run.
func (h History) Check() error {
	if h.Clients < 1 || h.Keys < 1 {
		return fmt.Errorf("a history needs a client and a key, not %d and %d", h.Clients, h.Keys)
	}
	for i, op := range h.Ops {
		if !op.Kind.isKnown() || op.Client < 0 || op.Client >= h.Clients || op.Key < 0 || op.Key >= h.Keys {
			return fmt.Errorf("operation %d, %+v, is none of this history", i, op)
		}
	}
	return nil
}
