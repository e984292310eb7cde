package sync_test

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

var steps = flag.Int("steps", 1_000_000, "how many random steps the planner walks")

// walk is one key on both sides: a person here, teammates and a maintainer on
// the server, and a client that does what [teamsync.Plan] says. Between the look
// at the facts and the action anybody may do something, and a crash may keep the
// client from remembering what it did.
type walk struct {
	r     *rand.Rand
	texts uint64

	local, remote api.Checksum
	tomb, version uint64
	held          bool
	base          api.Base

	history, saved []api.Checksum
	written        []api.Checksum // by the person here, not replaced by them
	bad            []api.Checksum // texts in which there is a secret
	redacted       []api.Checksum
}

func (w *walk) text() (sum api.Checksum) {
	w.texts++
	binary.LittleEndian.PutUint64(sum[:], w.texts)
	return sum
}

// happens is one thing that somebody does.
func (w *walk) happens() {
	switch draw := w.r.IntN(100); {
	case draw < 30: // the person saves
		w.replace(w.text())
		w.written = append(w.written, w.local)
	case draw < 35 && len(w.history) > 0: // or goes back to an older text
		w.replace(w.history[w.r.IntN(len(w.history))])
	case draw < 42:
		w.replace(none)
	case draw < 47:
		w.held = !w.held
	case draw < 75: // a teammate pushes
		if w.tomb == 0 {
			w.accept(w.text())
		}
	case draw < 79: // one with another client, and a secret
		if w.tomb == 0 {
			w.accept(w.text())
			w.bad = append(w.bad, w.remote)
		}
	case draw < 85:
		if w.remote != none {
			w.version++
			w.remote, w.tomb = none, w.version
		}
	case draw < 93:
		if w.tomb != 0 && len(w.history) > 0 {
			w.accept(w.history[w.r.IntN(len(w.history))])
		}
	case draw < 96: // the server loses the key
		w.version++
		w.remote = none
	case draw < 98 && len(w.history) > 0:
		w.redact(w.history[w.r.IntN(len(w.history))])
	}
}

// replace is what a person does to the file with open eyes.
func (w *walk) replace(with api.Checksum) {
	w.written = slices.DeleteFunc(w.written, func(s api.Checksum) bool { return s == w.local })
	w.local, w.held = with, w.held && with != none
}

// redact takes a content away for good; what is current is replaced or retired.
func (w *walk) redact(sum api.Checksum) {
	w.redacted = append(w.redacted, sum)
	w.history = slices.DeleteFunc(w.history, func(s api.Checksum) bool { return s == sum })
	switch {
	case w.remote != sum:
	case w.r.IntN(2) == 0:
		w.accept(w.text())
	default:
		w.version++
		w.remote, w.tomb = none, w.version
	}
}

func (w *walk) accept(sum api.Checksum) {
	w.version++
	w.remote, w.tomb = sum, 0
	w.history = append(w.history, sum)
}

func (w *walk) facts() teamsync.Facts {
	return teamsync.Facts{Local: w.local, Held: w.held, Remote: w.remote, Tomb: w.tomb, Base: w.base, Redacted: slices.Contains(w.redacted, w.local)}
}

// act carries out a plan made for facts that may be old by now, as the core and
// its ports do. forgets is a crash before the base is recorded.
func (w *walk) act(f teamsync.Facts, action teamsync.Action, forgets bool) {
	base := w.base
	switch action {
	case teamsync.Agree:
		base = agreed(base, f.Remote)
	case teamsync.Push:
		// The precondition, and the buffer that is read again.
		if w.local != f.Local || w.remote != f.Remote || w.tomb != f.Tomb {
			return
		}
		w.accept(f.Local)
		base = agreed(base, f.Local)
	case teamsync.Pull, teamsync.Restore, teamsync.Displace:
		if base = w.place(f, action); base.Sum == none {
			base.Ring = w.base.Ring
		}
	case teamsync.Bury:
		if w.local != f.Local {
			return
		}
		w.save(w.local)
		w.local = none
		base = api.Base{Tomb: f.Tomb, Ring: ring(base, none)}
	case teamsync.MarkBuried:
		base = api.Base{Tomb: f.Tomb, Ring: ring(base, none)}
	case teamsync.Forget:
		base = api.Base{}
	}
	if !forgets {
		w.base = base
	}
}

// place brings in what the server has now, and returns the base that results.
func (w *walk) place(f teamsync.Facts, action teamsync.Action) api.Base {
	if w.remote != f.Remote {
		return w.base // gone, or another: the next look tells
	}
	if slices.Contains(w.bad, w.remote) {
		base := w.base
		base.Bad = w.remote
		return base
	}
	if f.Local == none && w.local != none {
		return w.base // created without replacing
	}
	if action == teamsync.Displace {
		w.save(f.Local)
	}
	if w.local != f.Local || w.local != w.base.Sum && !slices.Contains(w.base.Ring, w.local) {
		w.save(w.local) // what the exchange brought out
	}
	w.local = w.remote
	return agreed(w.base, w.remote)
}

// save keeps a copy, unless its content was taken away.
func (w *walk) save(sum api.Checksum) {
	if !slices.Contains(w.redacted, sum) {
		w.saved = append(w.saved, sum)
	}
}

func agreed(b api.Base, sum api.Checksum) api.Base { return api.Base{Sum: sum, Ring: ring(b, sum)} }

// ring is the base's ring after another content became the base.
func ring(b api.Base, now api.Checksum) []api.Checksum {
	all := append([]api.Checksum{b.Sum}, b.Ring...)
	all = slices.DeleteFunc(all, func(s api.Checksum) bool { return s == none || s == now })
	return all[:min(len(all), api.RingSize)]
}

// lost returns a text of the person that is nowhere any more.
func (w *walk) lost() (api.Checksum, bool) {
	for _, sum := range w.written {
		if sum != w.local && !slices.Contains(w.redacted, sum) && !slices.Contains(w.history, sum) && !slices.Contains(w.saved, sum) {
			return sum, true
		}
	}
	return none, false
}

// settles lets the client alone until its plan changes nothing, and returns how
// it got there.
func (w *walk) settles() (path []teamsync.Action, ok bool) {
	w.held = false
	for range 4 {
		f := w.facts()
		action := teamsync.Plan(f)
		before := w.facts()
		w.act(f, action, false)
		if after := w.facts(); sameFacts(before, after) {
			return path, true
		}
		path = append(path, action)
	}
	return path, false
}

func sameFacts(a, b teamsync.Facts) bool {
	return a.Local == b.Local && a.Remote == b.Remote && a.Tomb == b.Tomb && a.Base.Sum == b.Base.Sum &&
		a.Base.Tomb == b.Base.Tomb && a.Redacted == b.Redacted && a.Base.Bad == b.Base.Bad && len(a.Base.Ring) == len(b.Base.Ring)
}

// resting reports whether the client and the server are where they may stay.
func (w *walk) resting() bool {
	switch action := teamsync.Plan(w.facts()); action {
	case teamsync.HoldForgotten:
		return w.tomb != 0 && w.local != none
	case teamsync.HoldBad:
		return slices.Contains(w.bad, w.remote)
	case teamsync.HoldRedacted:
		return w.remote == none && slices.Contains(w.redacted, w.local)
	case teamsync.Nothing:
		return w.local == w.remote
	}
	return false
}

// TestPlanWalks walks one key at random. After each step no text is lost; now
// and then everybody stops, and both sides come to rest in a few steps, without
// a push that is taken back.
func TestPlanWalks(t *testing.T) {
	t.Parallel()
	taken := map[teamsync.Action]int{}
	w := &walk{}
	for step := range *steps {
		if step%100 == 0 {
			w = &walk{r: rand.New(rand.NewPCG(uint64(step), 0))}
		}
		f := w.facts()
		action := teamsync.Plan(f)
		for w.r.IntN(3) == 0 {
			w.happens()
		}
		taken[action]++
		w.act(f, action, w.r.IntN(20) == 0)
		for w.r.IntN(2) == 0 {
			w.happens()
		}
		if sum, is := w.lost(); is {
			t.Fatalf("step %d: after %v of %+v the text %v is nowhere", step, action, f, sum)
		}
		if step%7 != 6 {
			continue
		}
		path, ok := w.settles()
		if !ok || !w.resting() {
			t.Fatalf("step %d: not at rest after %v: %+v", step, path, w.facts())
		}
		pushed := slices.Index(path, teamsync.Push)
		pulled := slices.IndexFunc(path, func(a teamsync.Action) bool { return a == teamsync.Pull || a == teamsync.Displace })
		if pushed >= 0 && pulled >= 0 {
			t.Fatalf("step %d: both a push and a pull: %v", step, path)
		}
		if sum, is := w.lost(); is {
			t.Fatalf("step %d: coming to rest by %v lost the text %v", step, path, sum)
		}
	}
	t.Logf("FIGURE planner: %d random steps, no text lost, at rest within 4 steps", *steps)
	for action := teamsync.Nothing; action <= teamsync.Forget && *steps >= 100_000; action++ {
		if taken[action] == 0 {
			t.Errorf("the walks never took action %d", action)
		}
	}
	t.Logf("FIGURE %d random steps of the planner, every action taken", *steps)
}
