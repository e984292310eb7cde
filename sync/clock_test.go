package sync_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// jumped is t on a wall clock that was set forward by d, whole seconds, while the
// monotonic clock went on as it does: what a process sees after somebody has set
// the time. The upper 33 bits below the first are the seconds on the wall.
func jumped(t time.Time, d time.Duration) time.Time {
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(int64(d/time.Second)) << 30
	return t
}

// TestF17Jumped proves that the clock is set as a machine's is.
func TestF17Jumped(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, d := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		then := jumped(now.Add(time.Second), d)
		if got := then.Round(0).Sub(now.Round(0)); got != d+time.Second {
			t.Errorf("on the wall %s went by, want %s", got, d+time.Second)
		}
		if got := then.Sub(now); got != time.Second {
			t.Errorf("on the monotonic clock %s went by, want a second", got)
		}
	}
}

// carry performs an effect on the fakes, as the engine does.
func (r *rig) carry(t *testing.T, effect teamsync.Effect) teamsync.Event {
	t.Helper()
	ctx := t.Context()
	switch f := effect.(type) {
	case teamsync.Scan:
		snapshot, err := r.tree.Snapshot(ctx, f.How)
		return teamsync.Scanned{Snapshot: snapshot, Err: err}
	case teamsync.Look:
		view, err := r.remote.Hashes(ctx, f.Known)
		return teamsync.Viewed{View: view, Err: err}
	case teamsync.Inspect:
		var files []teamsync.Inspection
		for _, k := range f.Keys {
			loaded, err := r.tree.Load(ctx, k, f.How)
			files = append(files, teamsync.Inspection{Key: k, Loaded: loaded, Err: err})
		}
		return teamsync.Inspected{Files: files}
	case teamsync.Send:
		answer, err := r.remote.Push(ctx, f.Batch)
		return teamsync.Sent{Answer: answer, Err: err}
	case teamsync.Receive:
		pulled, err := r.remote.Pull(ctx, f.Keys)
		var entries []teamsync.Arrival
		for _, entry := range pulled.Entries {
			entries = append(entries, teamsync.Arrival{Incoming: entry})
		}
		return teamsync.Received{Entries: entries, Err: err}
	case teamsync.Install:
		answer := teamsync.Installed{Saved: map[api.Key]string{}}
		for _, text := range f.Copies {
			id, err := r.state.Save(ctx, text)
			if err != nil {
				return teamsync.Installed{Err: err}
			}
			answer.Saved[text.Key] = id
		}
		answer.Placed = r.tree.Place(ctx, f.Placements)
		for _, retirement := range f.Retirements {
			answer.Retired = append(answer.Retired, r.tree.Retire(ctx, retirement.Key, retirement.Known))
		}
		return answer
	case teamsync.Commit:
		return teamsync.Committed{Err: r.state.Commit(ctx, f.Record)}
	}
	t.Fatalf("unknown effect %T", effect)
	return nil
}

// told is an effect without the times in it.
func told(effect teamsync.Effect) string {
	switch f := effect.(type) {
	case teamsync.Install:
		var parts []string
		for _, c := range f.Copies {
			parts = append(parts, fmt.Sprintf("copy %s %s", c.Key, c.Sum))
		}
		for _, p := range f.Placements {
			parts = append(parts, fmt.Sprintf("place %s %s over %s", p.Key, p.Sum, p.Expect))
		}
		for _, r := range f.Retirements {
			parts = append(parts, fmt.Sprintf("retire %s", r.Key))
		}
		return strings.Join(parts, ", ")
	case teamsync.Commit:
		return fmt.Sprintf("commit %d bases, %v", len(f.Record.Bases), f.Record.View)
	}
	return fmt.Sprintf("%T %+v", effect, effect)
}

// history is a day in which everything happens: edits on both sides, a conflict, a
// deletion, an emptied file, a retired key, an outage with its growing waits.
func history(r *rig) map[time.Duration]func() teamsync.Event {
	hint := func() teamsync.Event { return teamsync.Hinted{} }
	notice := func() teamsync.Event {
		r.remote.mu.Lock()
		defer r.remote.mu.Unlock()
		return teamsync.Noticed{At: api.Position{Epoch: r.remote.epoch, Version: r.remote.version}}
	}
	return map[time.Duration]func() teamsync.Event{
		5 * time.Second: func() teamsync.Event { r.remote.set("theirs.md", "2"); return notice() },
		8 * time.Second: func() teamsync.Event { r.tree.write("mine.md", "2"); return hint() },
		12 * time.Second: func() teamsync.Event {
			r.tree.write("both.md", "mine")
			r.remote.set("both.md", "theirs")
			return hint()
		},
		20 * time.Second: func() teamsync.Event { r.tree.remove("theirs.md"); return hint() },
		30 * time.Second: func() teamsync.Event { r.tree.write("mine.md", ""); return hint() },
		40 * time.Second: func() teamsync.Event { r.remote.forget("old.md"); return notice() },
		2 * time.Minute: func() teamsync.Event {
			r.remote.before = func(string, api.Batch) error { return api.Errorf(api.ErrOffline, "") }
			r.tree.write("later.md", "1")
			return teamsync.Followed{Up: false}
		},
		20 * time.Minute: func() teamsync.Event { r.remote.before = nil; return teamsync.Ticked{} },
		40 * time.Minute: func() teamsync.Event { r.tree.write("last.md", "1"); return teamsync.Hinted{Full: true} },
	}
}

// trace runs the history by a clock, and returns every effect with its time, and
// what is wrong at the end.
func trace(t *testing.T, seed uint64, clock func(at time.Duration, now time.Time) time.Time) []string {
	t.Helper()
	r := newRig(t)
	for _, name := range []string{"mine.md", "both.md", "old.md"} {
		r.tree.write(name, "1")
	}
	r.remote.set("theirs.md", "1")
	core := teamsync.NewCore(api.Memory{}, teamsync.Timing{}, rand.New(rand.NewPCG(seed, 1)))
	script, start := history(r), time.Now()
	var lines []string
	for at := time.Duration(0); at < time.Hour; at += 250 * time.Millisecond {
		now := clock(at, start.Add(at))
		event := teamsync.Event(teamsync.Ticked{})
		if act := script[at]; act != nil {
			event = act()
		} else if wake := core.Wake(); at > 0 && (wake.IsZero() || now.Before(wake)) {
			continue
		}
		for effect := core.Step(now, event); effect != nil; effect = core.Step(now, r.carry(t, effect)) {
			lines = append(lines, fmt.Sprintf("%s %s", at, told(effect)))
		}
		if report := core.Report(); core.Idle() {
			lines = append(lines, fmt.Sprintf("%s %s, %d pending, %d held", at, report.Word, report.Pending, len(report.Held)))
		}
	}
	for _, name := range []string{"mine.md", "both.md", "theirs.md", "later.md", "last.md"} {
		want := map[string]string{"mine.md": "", "both.md": "theirs", "theirs.md": "2", "later.md": "1", "last.md": "1"}[name]
		here, _ := r.tree.read(name)
		there, _ := r.remote.get(name)
		if here != want || there != want {
			lines = append(lines, fmt.Sprintf("wrong: %s holds %q here and %q there, want %q", name, here, there, want))
		}
	}
	if copies := r.state.copies(); len(copies) != 2 {
		lines = append(lines, fmt.Sprintf("wrong: %d saved copies, want that of the conflict and that of the retired key", len(copies)))
	}
	return lines
}

// TestF17ClockJumps runs the same history by clocks that are a day ahead, a day
// behind, and set forward or back in the middle of a wait, of a file's 60 empty
// seconds, of an outage: every decision and every moment is the same.
func TestF17ClockJumps(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	shifted := func(d time.Duration) func(time.Duration, time.Time) time.Time {
		return func(_ time.Duration, now time.Time) time.Time { return jumped(now, d) }
	}
	after := func(when, d time.Duration) func(time.Duration, time.Time) time.Time {
		return func(at time.Duration, now time.Time) time.Time {
			if at < when {
				return now
			}
			return jumped(now, d)
		}
	}
	for seed := range uint64(5) {
		want := trace(t, seed, shifted(0))
		if len(want) < 40 {
			t.Fatalf("the history makes %d lines only", len(want))
		}
		for _, line := range want {
			if strings.HasPrefix(line, "wrong: ") {
				t.Errorf("seed %d: %s", seed, line)
			}
		}
		clocks := map[string]func(time.Duration, time.Time) time.Time{
			"a day ahead": shifted(day), "a day behind": shifted(-day),
			"back and forth": func(at time.Duration, now time.Time) time.Time {
				return jumped(now, []time.Duration{-day, 0, day}[int(at/time.Minute)%3])
			},
		}
		for _, when := range []time.Duration{6 * time.Second, 21 * time.Second, 50 * time.Second, 10 * time.Minute, 30 * time.Minute} {
			clocks[fmt.Sprintf("forward after %s", when)] = after(when, day)
			clocks[fmt.Sprintf("back after %s", when)] = after(when, -day)
		}
		for name, clock := range clocks {
			if diff := cmp.Diff(want, trace(t, seed, clock)); diff != "" {
				t.Errorf("seed %d, %s (-want +got):\n%s", seed, name, diff)
			}
		}
	}
	// The comparison has teeth: a core that went by the wall would be caught.
	onTheWall := func(at time.Duration, now time.Time) time.Time {
		return after(10*time.Minute, -day)(at, now).Round(0)
	}
	if cmp.Equal(trace(t, 0, shifted(0)), trace(t, 0, onTheWall)) {
		t.Error("a jump of the only clock changes nothing: the history proves nothing")
	}
}
