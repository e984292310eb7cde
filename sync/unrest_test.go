package sync_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// unsettled drives one cycle in which a file is being written, from the effect
// that began it to its end.
func unsettled(t *testing.T, core *teamsync.Core, now time.Time, effect teamsync.Effect) {
	t.Helper()
	for effect != nil {
		var answer teamsync.Event
		switch effect.(type) {
		case teamsync.Scan:
			answer = teamsync.Scanned{Snapshot: api.Snapshot{Held: []api.HeldFile{{
				Key: key(t, "busy.md"), Path: "busy.md", Reason: api.HeldUnstable,
			}}}}
		case teamsync.Look:
			answer = teamsync.Viewed{View: &api.View{Epoch: "e", Version: 1, Sums: map[api.Key]api.Checksum{}}}
		case teamsync.Commit:
			answer = teamsync.Committed{}
		default:
			t.Fatalf("unexpected effect %T", effect)
		}
		effect = core.Step(now, answer)
	}
}

// TestF08HintEndsTheWait: a file that did not settle for long makes the core
// wait longer and longer, until it is told that the directory has.
func TestF08HintEndsTheWait(t *testing.T) {
	core := teamsync.NewCore(api.Memory{}, teamsync.Timing{}, rand.New(rand.NewPCG(1, 1)))
	now := time.Unix(1_000_000, 0)
	unsettled(t, core, now, core.Step(now, teamsync.Ticked{}))
	var longest time.Duration
	for range 8 {
		wait := core.Report().NextRetry.Sub(now)
		longest = max(longest, wait)
		if effect := core.Step(now.Add(wait-time.Millisecond), teamsync.Ticked{}); effect != nil {
			t.Fatalf("%T before the wait of %v is over", effect, wait)
		}
		now = now.Add(wait)
		unsettled(t, core, now, core.Step(now, teamsync.Ticked{}))
	}
	if longest < 10*time.Second {
		t.Errorf("the longest wait is %v: it does not grow", longest)
	}
	now = now.Add(time.Millisecond)
	effect := core.Step(now, teamsync.Hinted{})
	if _, scans := effect.(teamsync.Scan); !scans {
		t.Fatalf("after a hint: %T, want a scan", effect)
	}
	unsettled(t, core, now, effect)
	if wait := core.Report().NextRetry.Sub(now); wait > time.Second {
		t.Errorf("after a hint the next wait is %v: it has not begun anew", wait)
	}
}

// TestF08BusyFilesAreTriedOften: under constant writes a moment of rest must be
// met, so the waits stay short.
func TestF08BusyFilesAreTriedOften(t *testing.T) {
	core := teamsync.NewCore(api.Memory{}, teamsync.Timing{}, rand.New(rand.NewPCG(1, 1)))
	now := time.Unix(1_000_000, 0)
	unsettled(t, core, now, core.Step(now, teamsync.Hinted{Busy: true}))
	for try := range 10 {
		wait := core.Report().NextRetry.Sub(now)
		if wait <= 0 || wait > 2*time.Second {
			t.Fatalf("try %d is %v after the one before", try+2, wait)
		}
		now = now.Add(wait)
		unsettled(t, core, now, core.Step(now, teamsync.Ticked{}))
	}
}
