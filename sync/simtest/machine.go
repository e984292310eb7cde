package simtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

var quietLog = slog.New(slog.DiscardHandler)

// errDead is what every port of a killed process returns: nobody hears it.
var errDead = errors.New("the process is dead")

// machine is one computer: its disk outlives a crash, its process does not.
type machine struct {
	w        *World
	id       int
	name     string
	disk     *disk
	state    *state
	texts    map[api.Checksum]string // of bases; lost with the power
	wall     time.Duration           // how far the clock on the wall is off
	savers   []*saver                // programs of people that are saving
	root     rootState
	hidden   map[string]*inode // the team directory while it is renamed away
	edits    int               // grows with whatever others than the engine do to the tree
	waits    bool              // for what was before the faults ended
	inside   bool              // in the midst of something that can be killed
	puts     int               // requests that would change the server
	whole    int               // views that were asked for without a condition
	starts   int               // of processes
	ambushes []ambush
	faults

	process // lost in a crash
	watch   watch
	referee referee
}

// process is what a crash takes away.
type process struct {
	core   *teamsync.Core // nil while nothing runs
	locked bool           // the root's lock is ours
	dead   bool           // killed in the midst of an effect
	ports  teamsync.Options
	effect teamsync.Effect
	answer teamsync.Event // ready to be delivered
	marks  map[string]mark
	labels map[string]label // of staged files; in truth part of their names
	// leftovers: staging holds bytes that could not be saved yet.
	leftovers bool
	following bool
	notice    bool
	given     int // how often the server was restored before it gave the contents at hand
}

// faults are armed by operations and used up by what they hit.
type faults struct {
	treeFull, stateFull, copiesFull, treeBroken, stateBroken, guardBroken int
	eventsLost, eventsTwice                                               int
	unseen                                                                bool // an event was lost for good
	network                                                               []reply
	verdicts                                                              map[api.Key]bool // keys that were refused for no reason
}

type ambush struct {
	op   Op
	left int // steps
}

func newMachine(w *World, id int) *machine {
	m := &machine{w: w, id: id, name: strconv.Itoa(id), disk: newDisk(), root: present}
	m.verdicts = map[api.Key]bool{}
	m.labels, m.texts = map[string]label{}, map[api.Checksum]string{}
	m.state = newState(m)
	return m
}

func (m *machine) String() string { return fmt.Sprintf("client %d", m.id) }

// clock is what the machine's own clock shows.
func (m *machine) clock() time.Time { return m.w.now.Add(m.wall) }

// start begins a process: the lock, the state, the leftovers of a crash.
func (m *machine) start() {
	m.locked = true
	m.starts++
	labels := m.labels
	m.process = process{locked: true, labels: labels, marks: map[string]mark{}}
	memory, err := m.state.load()
	if err != nil {
		m.w.broke(err)
		return
	}
	if err := m.recover(); err != nil && m.dead {
		m.stop()
		return
	}
	m.referee = referee{placed: map[api.Key]api.Checksum{}, empty: map[api.Key]time.Time{}, followed: api.Position{Epoch: memory.Epoch, Version: memory.Version}}
	seed := m.w.rand.Uint64()
	m.ports = teamsync.Options{Tree: tree{m}, Disk: tree{m}, Remote: wire{m}, State: m.state, Guard: guard{m}, Logger: quietLog}
	if m.w.history.Merge {
		m.ports.Texts, m.ports.Merge = texts{m}, true
	}
	m.core = teamsync.NewCore(memory, teamsync.Timing{}, rand.New(rand.NewPCG(seed, 2)))
	m.core.SetMerging(m.ports.Merge)
	m.watch = watch{}
}

// stop is the end of a process. The kernel keeps what it wrote.
func (m *machine) stop() {
	labels := m.labels
	m.process = process{labels: labels}
	m.state.reopen()
}

// kill ends the process where it is.
func (m *machine) kill() {
	m.w.stats.Kills++
	m.dead = true
	if !m.inside {
		m.stop()
	}
}

// turn brings a machine on by one small step: an answer is delivered, an effect
// is carried out, or something from outside is heard.
func (m *machine) turn() {
	w := m.w
	w.now = w.now.Add(w.below(40 * time.Millisecond))
	m.save()
	switch {
	case m.core == nil:
		m.guarded(m.start)
	case m.answer != nil:
		answer := m.answer
		m.answer = nil
		m.step(answer)
	case m.effect != nil:
		m.perform()
	default:
		m.listen()
	}
	if m.dead {
		m.stop()
	}
}

// guarded runs what may be killed in its midst.
func (m *machine) guarded(run func()) {
	m.inside = true
	run()
	m.inside = false
}

// perform carries out the effect under way, by the engine's own hands.
func (m *machine) perform() {
	effect := m.effect
	m.effect = nil
	m.w.stats.Effects++
	m.w.note(m.name+" >", effect)
	m.referee.before(m, effect)
	m.guarded(func() { m.answer = teamsync.Perform(context.Background(), m.ports, effect) })
	if m.guardBroken > 0 {
		m.guardBroken--
	}
}

// step feeds an event and keeps the effect that it led to.
func (m *machine) step(event teamsync.Event) {
	m.w.note(m.name+" <", event)
	before := m.core.Cycles()
	if effect := m.core.Step(m.w.now, event); effect != nil {
		m.effect = effect
	}
	if m.core.Cycles() != before {
		m.w.stats.Cycles++
		m.referee.after(m)
	}
}

// listen delivers what is due from outside.
func (m *machine) listen() {
	w := m.w
	switch busy, due := m.watch.due(w.now); {
	case m.asks():
		m.resolve(w.rand.IntN(2))
	case due:
		m.watch = watch{}
		if busy {
			m.watch.first, m.watch.last = w.now, w.now
		}
		m.step(teamsync.Hinted{Busy: busy})
	case m.notice:
		m.notice = false
		m.step(teamsync.Noticed{At: w.server.position()})
	default:
		if at := m.core.Wake(); !at.IsZero() && !at.After(w.now) {
			m.step(teamsync.Ticked{})
		}
	}
}

// asks reports whether a person has to say how to go on, which they do at once
// when nothing else goes wrong any more.
func (m *machine) asks() bool {
	return m.w.settling && m.core.Idle() && errors.Is(m.core.Report().Err, api.ErrServerChanged) && !m.referee.resolved
}

// next returns when the machine has something to do, the zero time for never.
func (m *machine) next() time.Time {
	if m.core == nil || m.answer != nil || m.effect != nil || m.notice || m.asks() {
		return m.w.now
	}
	at := m.core.Wake()
	sooner := func(other time.Time) {
		if !other.IsZero() && (at.IsZero() || other.Before(at)) {
			at = other
		}
	}
	sooner(m.watch.at())
	for _, s := range m.savers {
		sooner(s.at)
	}
	return at
}

// disk steps: between any two of them a person may save, and the process or the
// power may go.
func (m *machine) between() error {
	if m.dead {
		return errDead
	}
	m.w.now = m.w.now.Add(m.w.below(2 * time.Millisecond))
	m.save()
	for i := 0; i < len(m.ambushes) && !m.dead; {
		a := &m.ambushes[i]
		if a.left--; a.left > 0 {
			i++
			continue
		}
		op := a.op
		m.ambushes = append(m.ambushes[:i], m.ambushes[i+1:]...)
		m.w.stats.Ambushes++
		m.w.operate(op)
	}
	if m.dead {
		return errDead
	}
	return nil
}

// spring carries out the ambushes that found nothing to interrupt.
func (m *machine) spring() {
	waiting := m.ambushes
	m.ambushes = nil
	for _, a := range waiting {
		m.w.operate(a.op)
	}
}
