package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/internal/control"
)

// TestStatusViewPrintsChangesOnly sees no line for what a person would not see
// change, and a block for all else.
func TestStatusViewPrintsChangesOnly(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	view := newApp(nil, &out, &out, func(string) string { return "" }).newStatusView()
	root := control.RootStatus{RootReport: control.RootReport{Root: "/team", State: "in-sync", Unchanged: 1}, Watch: "events"}
	steps := []struct {
		change func()
		prints bool
	}{
		{func() {}, true},
		{func() {}, false},
		{func() { root.Progress = control.Progress{Done: 1, Planned: 2} }, false},
		{func() { root.DurationMS = 5 }, false},
		{func() { root.Pending, root.PendingKeys = 1, []string{"a.md"} }, true},
		{func() { root.PendingKeys = []string{"b.md"} }, true},
		{func() { root.PausedSince = time.Unix(1, 0) }, true},
		{func() { root.PausedUntil = time.Unix(2, 0) }, true},
		{func() { root.Watch = "polling" }, true},
		{func() { root.LastPull = time.Unix(3, 0) }, true},
		{func() { root.Held = control.List[control.Held]{{Key: "h.md", Reason: "secret"}} }, true},
		{func() { root.Conflicts = control.List[control.Conflict]{{ID: "c1"}} }, true},
		{func() { root.Error = "no" }, true},
	}
	for i, step := range steps {
		step.change()
		out.Reset()
		if err := view.see(control.Status{State: root.State, Roots: control.List[control.RootStatus]{root}}, true); err != nil {
			t.Fatal(err)
		}
		if printed := out.Len() > 0; printed != step.prints {
			t.Errorf("step %d: printed %v, want %v: %q", i, printed, step.prints, out.String())
		}
		if i > 0 && step.prints && !strings.HasPrefix(out.String(), "\nin sync") || strings.Contains(out.String(), "\x1b") {
			t.Errorf("step %d: the block is %q", i, out.String())
		}
	}
	out.Reset()
	if err := view.see(control.Status{State: root.State, Roots: control.List[control.RootStatus]{root}}, false); err != nil || !strings.Contains(out.String(), "no daemon is running") {
		t.Errorf("when the daemon ends: %q, %v", out.String(), err)
	}
}
