package simtest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/teammem/teammemd/api"
)

// secretMark in a text makes the simulated guard find a secret.
const secretMark = "hush"

// World is one history while it runs. One goroutine uses it.
type World struct {
	history  History
	source   *rand.PCG
	rand     *rand.Rand
	now      time.Time // never goes back; each machine's wall clock is its own
	server   *server
	backup   *server
	restores int // how often the server lost its newest history
	machines []*machine
	keys     []api.Key
	keyOf    map[string]api.Key // by name on disk
	settling bool               // no faults and no edits any more
	delayed  bool               // a client that waited has sent something since
	down     time.Time          // until when the server cannot be reached
	hostile  int                // how many contents still arrive spoiled
	late     []late             // requests that may arrive once more

	texts  int             // how many were written
	whole  map[string]bool // every content that may travel: settled by a person, or torn by a disk
	owed   []debt
	acked  []debt // what the server answered 2xx
	broken error  // the first broken promise
	trace  io.Writer
	stats  Stats
}

// debt is a text that must not get lost.
type debt struct {
	client int
	key    api.Key
	text   text
}

type late struct {
	entries    []api.Outgoing
	conditions bool
}

// New returns a world in which history is to happen.
func New(history History) (*World, error) {
	if err := history.Check(); err != nil {
		return nil, err
	}
	w := &World{
		history: history, source: rand.NewPCG(history.Seed, 1), server: newServer(),
		now:   time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		keyOf: map[string]api.Key{}, whole: map[string]bool{"": true},
	}
	w.rand = rand.New(w.source)
	if err := w.makeKeys(); err != nil {
		return nil, err
	}
	if history.Few {
		w.server.most = max(1, history.Keys-1)
	}
	if history.Poison {
		w.server.poison = w.keys[len(w.keys)-1]
	}
	if !history.Big {
		w.server.limit = 400
	}
	for i := range history.Clients {
		w.machines = append(w.machines, newMachine(w, i))
	}
	return w, nil
}

// makeKeys names the entries: an index, ordinary files, and perhaps twins.
func (w *World) makeKeys() error {
	for i := range w.history.Keys {
		name := fmt.Sprintf("notes/k%d.md", i)
		switch {
		case i == 1 && w.history.Twins:
			name = "notes/K0.md"
		case i == 2:
			name = "MEMORY.md"
		}
		key, err := api.ParseKey(name)
		if err != nil {
			return fmt.Errorf("naming entry %d: %w", i, err)
		}
		w.keys = append(w.keys, key)
		w.keyOf[name] = key
	}
	return nil
}

// Run plays the history to its end and returns the first broken promise.
func (w *World) Run() error {
	for _, op := range w.history.Ops {
		w.stats.Operations++
		w.note("op", op)
		m := w.machines[op.Client]
		w.draw(op.Seed)
		if op.Ambush > 0 {
			m.ambushes = append(m.ambushes, ambush{op, op.Ambush})
		} else {
			w.operate(op)
		}
		for range op.Turns {
			if w.broken != nil {
				return w.broken
			}
			w.machines[w.rand.IntN(len(w.machines))].turn()
		}
		w.glance()
		if w.broken != nil {
			return w.broken
		}
	}
	w.draw(0)
	w.settle()
	return w.broken
}

// draw makes what follows depend on seed alone, not on what was drawn before.
func (w *World) draw(seed uint32) { w.source.Seed(w.history.Seed, uint64(seed)+2) }

// broke remembers the first broken promise.
func (w *World) broke(err error) {
	if err != nil && w.broken == nil {
		w.broken = err
	}
}

// below draws a duration.
func (w *World) below(d time.Duration) time.Duration { return time.Duration(w.rand.Int64N(int64(d))) }

// one is true once in n, and never once the world settles.
func (w *World) one(n int) bool { return !w.settling && w.rand.IntN(n) == 0 }
