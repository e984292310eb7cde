package simtest

import (
	"maps"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// operate lets one operation happen.
func (w *World) operate(op Op) {
	m, key := w.machines[op.Client], w.keys[op.Key]
	switch op.Kind {
	case SavePlain, SaveTorn, SaveAtomic, SaveVim:
		m.write(op.Kind, key, m.compose(op, key), op.Arg%2 == 0)
	case Truncate:
		m.truncate(key)
	case Delete:
		m.remove(key)
	case Storm:
		w.storm(m, key, op)
	case Sync, Pause, Resume, Resolve, StreamDown, StreamUp:
		w.ask(m, op)
	case Kill:
		m.kill()
	case PowerLoss:
		m.powerLoss()
	case SecondDaemon:
		w.stats.fault(SecondDaemon)
		w.broke(promiseOneDaemon(m))
	case ClockJump:
		w.stats.fault(ClockJump)
		m.wall += time.Duration(op.Arg%2*2-1) * 24 * time.Hour
		m.wall = max(-48*time.Hour, min(m.wall, 48*time.Hour))
	case TreeFull, StateFull, CopiesFull, TreeBroken, StateBroken, GuardBroken, EventsLost, EventsTwice:
		m.arm(op)
	case RootGone, RootAway, RootBack, RootEmptied:
		m.moveRoot(op.Kind)
	default:
		w.befall(m, key, op)
	}
}

// arm prepares faults that later work meets.
func (m *machine) arm(op Op) {
	n := 1 + op.Arg%3
	switch op.Kind {
	case TreeFull:
		m.treeFull += n
	case StateFull:
		m.stateFull += n
	case CopiesFull:
		m.copiesFull += n
	case TreeBroken:
		m.treeBroken += n
	case StateBroken:
		m.stateBroken += n
	case GuardBroken:
		m.guardBroken += n
		m.w.stats.fault(GuardBroken)
	case EventsLost:
		m.eventsLost += n
	case EventsTwice:
		m.eventsTwice += n
	}
}

// befall is what happens to the network, to the server, or to time.
func (w *World) befall(m *machine, key api.Key, op Op) {
	before := w.server.changes
	switch op.Kind {
	case Network:
		for range 1 + op.Arg/100%3 {
			m.network = append(m.network, replies[op.Arg%len(replies)])
		}
	case Redeliver:
		if n := len(w.late); n > 0 {
			w.stats.fault(Redeliver)
			again := w.late[op.Arg%n]
			_, _ = w.server.push(again.entries, again.conditions) // nobody hears the answer
		}
	case Outage:
		w.stats.fault(Outage)
		w.down = w.now.Add(time.Duration(20+op.Arg%20) * time.Minute)
		w.pass(w.down.Sub(w.now))
	case ServerRestart:
		w.stats.fault(ServerRestart)
		for _, other := range w.machines {
			other.network = append(other.network, reply{err: api.ErrOffline, name: "restart"})
			other.follow(false)
		}
	case Backup:
		if w.server.version > 0 {
			w.backup = w.server.clone()
		}
	case Restore:
		w.restore()
	case LoseKey:
		w.server.lose(key)
	case Forget:
		w.server.forget(key)
	case Revive:
		w.server.revive(key)
	case Redact:
		w.redact(key, op)
	case PlantSecret:
		if _, live := w.server.live[key]; live {
			w.stats.fault(PlantSecret)
			w.server.put(key, textOf("left by somebody: "+secretMark+"\n"))
			w.server.changed()
		}
	case Hostile:
		w.hostile += 1 + op.Arg%3
	case Wait:
		w.pass(time.Duration(op.Arg*op.Arg/25+1) * time.Millisecond)
	}
	w.served(before)
}

// pass lets time go by, and whoever has something to do then do it.
func (w *World) pass(d time.Duration) {
	for end := w.now.Add(d); w.broken == nil; {
		m, at := w.nextMachine()
		if m == nil || at.After(end) {
			w.now = later(w.now, end)
			break
		}
		w.now = later(w.now, at)
		m.turn()
	}
	for _, m := range w.machines {
		m.save()
		if d > 30*time.Second {
			m.disk.writeBack()
		}
	}
}

// nextMachine returns who has something to do first.
func (w *World) nextMachine() (next *machine, at time.Time) {
	for _, m := range w.machines {
		due := m.next()
		if !due.IsZero() && (next == nil || due.Before(at)) {
			next, at = m, due
		}
	}
	return next, at
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// truncate leaves a file empty, as an interrupted save does.
func (m *machine) truncate(key api.Key) {
	f := m.disk.shown[team][key.String()]
	if f == nil || m.root != present || m.isSaving(key) {
		return
	}
	m.replaced(key)
	f.ours = false
	f.write(noText, m.clock(), m.w.now)
	m.changed()
}

func (m *machine) remove(key api.Key) {
	name := key.String()
	if m.root != present || m.disk.shown[team][name] == nil || m.isSaving(key) {
		return
	}
	m.w.note(m.name+" deletes", key)
	m.replaced(key)
	m.disk.relink(link{team, name, nil})
	m.changed()
}

// powerLoss takes the process, every program, and what no disk has yet.
func (m *machine) powerLoss() {
	w := m.w
	w.stats.Crashes++
	m.dead = true
	m.savers = nil
	for _, f := range m.hidden {
		f.writers = 0
	}
	before := m.atRisk()
	w.note(m.name+" loses power", len(before))
	m.disk.crash(w.rand, m.clock())
	for _, files := range []map[string]*inode{m.disk.shown[team], m.disk.shown[staging], m.hidden} {
		for _, f := range files {
			if !f.ours {
				w.whole[f.text.s] = true // torn by the person's own program, or by the disk
			}
		}
	}
	m.state.crash()
	clear(m.texts)
	w.broke(promiseWholeFiles(m))
	w.owed = slices.DeleteFunc(w.owed, func(d debt) bool { return slices.Contains(before, d) && !w.finds(d) })
	m.edits++
	if !m.inside {
		m.stop()
	}
}

// atRisk lists the debts that a loss of power may void: their texts are in no
// synced file, whatever part of the journal survives.
func (m *machine) atRisk() (debts []debt) {
	for _, d := range m.w.owed {
		// Of what a restored server lost, any client may have had the last copy.
		if d.client != m.id && m.w.restores == 0 || m.w.server.had(d.key, d.text) {
			continue
		}
		at := m.state.copyAt(d.key, d.text)
		if at >= 0 && m.state.copies[at].synced || m.disk.survives(d.text) {
			continue
		}
		debts = append(debts, d)
	}
	return debts
}

// moveRoot takes the team directory away, or brings it back.
func (m *machine) moveRoot(kind Kind) {
	files := m.disk.shown[team]
	switch {
	case kind == RootAway && m.root == present:
		m.hidden = maps.Clone(files)
		m.root = away
	case kind == RootBack && m.root == away:
		for _, name := range sortedNames(m.hidden) {
			m.disk.relink(link{team, name, m.hidden[name]})
		}
		m.hidden, m.root = nil, present
		m.disk.syncDir(team)
		m.changed()
		return
	case kind == RootBack && m.root == gone:
		m.root = present
		m.changed()
		return
	case (kind == RootGone || kind == RootEmptied) && m.root == present:
		for _, name := range sortedNames(files) {
			if key, isKey := m.w.keyOf[name]; isKey {
				m.replaced(key)
			}
		}
		if kind == RootGone {
			m.root = gone
		}
	default:
		return
	}
	m.w.stats.fault(kind)
	for _, name := range sortedNames(files) {
		m.disk.relink(link{team, name, nil})
	}
	m.disk.syncDir(team)
	if kind == RootEmptied {
		m.changed()
	}
	m.edits++
}

// ask is what a person, or a stream, says to the program.
func (w *World) ask(m *machine, op Op) {
	if m.core == nil {
		return
	}
	switch op.Kind {
	case Sync:
		modes := []teamsync.Mode{{}, {}, {}, {NoPush: true}, {NoPull: true}, {DryRun: true}}
		mode := modes[op.Arg%len(modes)]
		mode.Manual = true
		m.step(teamsync.Asked{Mode: mode})
	case Pause:
		m.step(teamsync.SetPaused{Paused: true})
	case Resume:
		m.step(teamsync.SetPaused{})
	case Resolve:
		m.resolve(op.Arg)
	case StreamDown, StreamUp:
		m.follow(op.Kind == StreamUp)
	}
}

// follow opens or ends the stream; a new one begins with a notice.
func (m *machine) follow(up bool) {
	if m.core == nil || m.following == up {
		return
	}
	m.following, m.notice = up, up
	m.step(teamsync.Followed{Up: up})
}

// resolve is a person's word about a server that changed.
func (m *machine) resolve(arg int) {
	how := teamsync.AcceptServer
	if arg%2 == 0 {
		how = teamsync.Reupload
	}
	m.referee.heard(m)
	m.step(teamsync.Resolved{How: how})
}

// restore sets the server back to its backup. What only its newer history had
// is lost to nobody's surprise; what is in a tree is owed from now on.
func (w *World) restore() {
	if w.backup == nil {
		return
	}
	w.stats.fault(Restore)
	w.server.restore(w.backup)
	w.backup = nil
	w.late = nil
	w.restores++
	w.owed = slices.DeleteFunc(w.owed, func(d debt) bool { return !w.finds(d) })
	w.acked = slices.DeleteFunc(w.acked, func(d debt) bool { return !w.server.had(d.key, d.text) })
}
