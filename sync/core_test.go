package sync_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// script drives a core by hand: the answers that its effects get are written
// down by the test.
type script struct {
	t    *testing.T
	core *teamsync.Core
	now  time.Time
}

func newScript(t *testing.T, memory api.Memory) *script {
	t.Helper()
	return &script{t, teamsync.NewCore(memory, teamsync.Timing{}, rand.New(rand.NewPCG(1, 1))), time.Unix(1_800_000_000, 0)}
}

// step feeds an event; the effect that follows must be a T.
func step[T teamsync.Effect](s *script, event teamsync.Event) (effect T) {
	s.t.Helper()
	s.now = s.now.Add(10 * time.Millisecond)
	got := s.core.Step(s.now, event)
	effect, ok := got.(T)
	if !ok {
		s.t.Fatalf("%T leads to %T %+v, want %T", event, got, got, effect)
	}
	return effect
}

// ends feeds the event that ends a cycle.
func (s *script) ends(event teamsync.Event) teamsync.Report {
	s.t.Helper()
	s.now = s.now.Add(10 * time.Millisecond)
	if effect := s.core.Step(s.now, event); effect != nil {
		s.t.Fatalf("%T leads to %T %+v, want the end", event, effect, effect)
	}
	return s.core.Report()
}

func scanned(key api.Key, content string) teamsync.Scanned {
	return teamsync.Scanned{Snapshot: api.Snapshot{Files: []api.Local{{Key: key, Sum: api.SumString(content), Bytes: len(content)}}}}
}

func inspected(key api.Key, content string) teamsync.Inspected {
	return teamsync.Inspected{Files: []teamsync.Inspection{{Key: key, Loaded: api.Loaded{Content: content, Sum: api.SumString(content)}}}}
}

func viewed(epoch string, version uint64, sums map[api.Key]api.Checksum) teamsync.Viewed {
	return teamsync.Viewed{View: &api.View{Epoch: epoch, Version: version, Checksum: api.SumString(epoch), Sums: sums}}
}

func aKey(t *testing.T) api.Key {
	t.Helper()
	key, err := api.ParseKey("a.md")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestPushThatChangedNothing: a teammate pushed the same, and more, a moment
// earlier. The version is theirs, so the view has to be asked for.
func TestPushThatChangedNothing(t *testing.T) {
	t.Parallel()
	for _, unchanged := range []bool{true, false} {
		s, key := newScript(t, api.Memory{}), aKey(t)
		step[teamsync.Scan](s, teamsync.Ticked{})
		step[teamsync.Look](s, scanned(key, "same"))
		step[teamsync.Inspect](s, viewed("e", 9, noSums()))
		step[teamsync.Send](s, inspected(key, "same"))
		step[teamsync.Commit](s, teamsync.Sent{Answer: api.Pushed{Epoch: "e", Version: 10, Checksum: api.SumString("10"), Unchanged: unchanged}})
		report := s.ends(teamsync.Committed{})
		if report.Again != unchanged {
			t.Errorf("unchanged %t: again is %t", unchanged, report.Again)
		}
		s.now = s.now.Add(time.Minute)
		step[teamsync.Scan](s, teamsync.Hinted{})
		if look := step[teamsync.Look](s, scanned(key, "same")); look.Known.IsZero() != unchanged {
			t.Errorf("unchanged %t: the next look is %+v", unchanged, look)
		}
	}
}

func noSums() map[api.Key]api.Checksum { return map[api.Key]api.Checksum{} }

// TestPositionComesWithBases: a cycle that fails after a push leaves bases; the
// server's position is recorded with them.
func TestPositionComesWithBases(t *testing.T) {
	t.Parallel()
	s, key := newScript(t, api.Memory{}), aKey(t)
	step[teamsync.Scan](s, teamsync.Ticked{})
	step[teamsync.Look](s, scanned(key, "mine"))
	step[teamsync.Inspect](s, viewed("e", 9, noSums()))
	step[teamsync.Send](s, inspected(key, "mine"))
	commit := step[teamsync.Commit](s, teamsync.Sent{Answer: api.Pushed{Epoch: "e", Version: 10, Checksum: api.SumString("10")}})
	if want := (api.Position{Epoch: "e", Version: 10}); commit.Record.View == nil || *commit.Record.View != want {
		t.Errorf("the record has the position %v, want %v", commit.Record.View, want)
	}
}

// TestResolutionIsRecordedWhole: what a person's word does to the bases becomes
// durable together with the position of the server that it is about.
func TestResolutionIsRecordedWhole(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	mine := api.SumString("mine")
	s := newScript(t, api.Memory{Epoch: "old", Version: 9, Bases: map[api.Key]api.Base{key: {Sum: mine}}})
	step[teamsync.Scan](s, teamsync.Resolved{How: teamsync.AcceptServer})
	step[teamsync.Look](s, teamsync.Scanned{Snapshot: api.Snapshot{Held: []api.HeldFile{{Key: key, Path: "a.md", Reason: api.HeldUnreadable}}}})
	commit := step[teamsync.Commit](s, viewed("new", 3, map[api.Key]api.Checksum{key: api.SumString("theirs")}))
	if base := commit.Record.Bases[key]; !base.Sum.IsZero() || len(base.Ring) != 1 || commit.Record.View == nil || commit.Record.View.Epoch != "new" {
		t.Errorf("the record is %+v", commit.Record)
	}
}

// TestResolutionIsForOneChange: a word about a server that did not change does
// not wait for one that will.
func TestResolutionIsForOneChange(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	s := newScript(t, api.Memory{Epoch: "e", Version: 9, Bases: map[api.Key]api.Base{key: {Sum: api.SumString("mine")}}})
	sums := map[api.Key]api.Checksum{key: api.SumString("mine")}
	step[teamsync.Scan](s, teamsync.Resolved{How: teamsync.AcceptServer})
	step[teamsync.Look](s, scanned(key, "mine"))
	s.ends(viewed("e", 9, sums))
	step[teamsync.Scan](s, teamsync.Hinted{})
	step[teamsync.Look](s, scanned(key, "mine"))
	if report := s.ends(viewed("restored", 4, noSums())); report.Word != teamsync.ServerChanged {
		t.Errorf("a restored server is %s", report.Word)
	}
}

// TestResolutionCountsOnceRecorded: while what a person's word does to the bases
// cannot be recorded, the bases are what they were, and the word is kept for the
// server that it is about, and for no other.
func TestResolutionCountsOnceRecorded(t *testing.T) {
	t.Parallel()
	key, full := aKey(t), errors.New("no space left on device")
	theirs := map[api.Key]api.Checksum{key: api.SumString("theirs")}
	look := func(s *script) {
		s.t.Helper()
		s.now = s.now.Add(time.Hour) // past any wait
		step[teamsync.Scan](s, teamsync.Ticked{})
		step[teamsync.Look](s, scanned(key, "mine"))
	}
	tests := []struct {
		name string
		next func(s *script)
	}{
		{"a closed door", func(s *script) {
			if report := s.ends(teamsync.Viewed{Err: api.ErrNotFound}); report.Word != teamsync.NoAccess {
				s.t.Errorf("a 404 is %s", report.Word)
			}
		}},
		{"the same server, later", func(s *script) {
			commit := step[teamsync.Commit](s, viewed("new", 5, theirs))
			if base := commit.Record.Bases[key]; !base.Sum.IsZero() || len(base.Ring) != 1 || commit.Record.View == nil || commit.Record.View.Version != 5 {
				s.t.Errorf("the record is %+v", commit.Record)
			}
			step[teamsync.Inspect](s, teamsync.Committed{}) // a conflict: it is saved first
		}},
		{"another server", func(s *script) {
			if report := s.ends(viewed("newer", 5, theirs)); report.Word != teamsync.ServerChanged {
				s.t.Errorf("a server that was restored again is %s", report.Word)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t, api.Memory{Epoch: "old", Version: 9, Bases: map[api.Key]api.Base{key: {Sum: api.SumString("mine")}}})
			step[teamsync.Scan](s, teamsync.Resolved{How: teamsync.AcceptServer})
			step[teamsync.Look](s, scanned(key, "mine"))
			step[teamsync.Commit](s, viewed("new", 3, theirs))
			step[teamsync.Commit](s, teamsync.Committed{Err: full}) // once more, at the end
			if report := s.ends(teamsync.Committed{Err: full}); !errors.Is(report.Err, full) {
				t.Errorf("the cycle ended with %v", report.Err)
			}
			look(s)
			tt.next(s)
		})
	}
}

// TestContentsOfAServerSetBack: a server that was restored between its view and
// the contents that were asked for fills no tree with them; the next look tells.
func TestContentsOfAServerSetBack(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	old := api.Incoming{Key: key, Content: "old", Sum: api.SumString("old")}
	theirs := map[api.Key]api.Checksum{key: api.SumString("theirs")}
	received := func(at api.Position) teamsync.Received {
		return teamsync.Received{Entries: []teamsync.Arrival{{Incoming: old}}, At: at}
	}
	look := func(t *testing.T) *script {
		t.Helper()
		s := newScript(t, api.Memory{Epoch: "e", Version: 9, Bases: map[api.Key]api.Base{key: {Sum: api.SumString("mine")}}})
		step[teamsync.Scan](s, teamsync.Ticked{})
		step[teamsync.Look](s, scanned(key, "mine"))
		step[teamsync.Receive](s, viewed("e", 12, theirs))
		return s
	}
	for _, at := range []api.Position{{}, {Epoch: "e", Version: 12}, {Epoch: "e", Version: 13}, {Version: 12}} {
		step[teamsync.Install](look(t), received(at))
	}
	for _, at := range []api.Position{{Epoch: "restored", Version: 12}, {Epoch: "restored", Version: 40}, {Epoch: "e", Version: 11}} {
		s := look(t)
		commit := step[teamsync.Commit](s, received(at))
		if want := (api.Position{Epoch: "e", Version: 12}); len(commit.Record.Bases) > 0 || commit.Record.View == nil || *commit.Record.View != want {
			t.Errorf("%+v: the record is %+v", at, commit.Record)
		}
		s.ends(teamsync.Committed{})
		s.now = s.now.Add(time.Minute)
		step[teamsync.Scan](s, teamsync.Ticked{})
		if look := step[teamsync.Look](s, scanned(key, "mine")); !look.Known.IsZero() {
			t.Errorf("%+v: the next look is %+v", at, look)
		}
		if report := s.ends(viewed(at.Epoch, at.Version, map[api.Key]api.Checksum{key: old.Sum})); report.Word != teamsync.ServerChanged {
			t.Errorf("%+v: the server is %s", at, report.Word)
		}
	}
}

// TestEmptiedAfterTheScan: a file that was edited, and emptied before it could
// be read, is held like any that is found empty.
func TestEmptiedAfterTheScan(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	old := api.SumString("old")
	s := newScript(t, api.Memory{Epoch: "e", Version: 9, Bases: map[api.Key]api.Base{key: {Sum: old}}})
	step[teamsync.Scan](s, teamsync.Ticked{})
	step[teamsync.Look](s, scanned(key, "new"))
	step[teamsync.Inspect](s, viewed("e", 9, map[api.Key]api.Checksum{key: old}))
	report := s.ends(inspected(key, ""))
	if len(report.Held) != 1 || report.Held[0].Reason != api.HeldEmpty {
		t.Errorf("held: %+v", report.Held)
	}
}

// TestHalfCycleLeavesTheOtherHalf: what a pull alone did not push is for the
// next cycle, which begins by itself.
func TestHalfCycleLeavesTheOtherHalf(t *testing.T) {
	t.Parallel()
	key := aKey(t)
	s := newScript(t, api.Memory{})
	step[teamsync.Scan](s, teamsync.Asked{Mode: teamsync.Mode{NoPush: true, Manual: true}})
	step[teamsync.Look](s, scanned(key, "mine"))
	step[teamsync.Commit](s, viewed("e", 9, noSums()))
	step[teamsync.Scan](s, teamsync.Committed{})
}
