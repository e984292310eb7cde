package sync_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

// meddler is a guard that lets a person save while it judges.
type meddler struct {
	guards
	meddle func(content string)
}

func (m meddler) Check(ctx context.Context, k api.Key, content string, vouched api.Vouched) ([]api.Finding, error) {
	findings, err := m.guards.Check(ctx, k, content, vouched)
	m.meddle(content)
	return findings, err
}

// TestJudgedBytesAreSent: what is saved after the scan for secrets does not
// leave with what was scanned.
func TestJudgedBytesAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "clean")
		guard := meddler{meddle: func(string) { r.tree.write("a.md", "hush now") }}
		r.start(t, func(o *teamsync.Options) { o.OnDemand, o.Guard = true, guard })
		got := r.sync(t, teamsync.Mode{})
		for _, batch := range r.remote.pushes {
			for _, o := range batch.Entries {
				if strings.Contains(o.Content, "hush") {
					t.Errorf("sent %q, which nobody judged", o.Content)
				}
			}
		}
		r.remote.want("what was judged", "a.md", "clean")
		if got.Sent != 1 {
			t.Errorf("report %+v", got)
		}
	})
}

// TestEditsOfTheAbsenceAreSeenFirst: what was saved while nothing ran is seen
// before the server is looked at.
func TestEditsOfTheAbsenceAreSeenFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("alone.md", "base")
		r.tree.write("both.md", "base")
		stop := r.start(t, onDemand)
		r.sync(t, teamsync.Mode{})
		stop()
		r.tree.write("alone.md", "mine")
		r.tree.write("both.md", "mine")
		r.remote.set("both.md", "theirs")
		r.start(t, onDemand)
		got := r.sync(t, teamsync.Mode{})
		r.remote.want("after the first cycle", "alone.md", "mine")
		if len(got.Conflicts) != 1 || got.Conflicts[0].Key.String() != "both.md" {
			t.Errorf("conflicts %+v, want one about both.md", got.Conflicts)
		}
		r.state.wantCopy("mine", "conflict")
	})
}

// TestEmptiedFileWaits: a file that had text and is empty counts as an edit only
// when it has stayed so for a minute and two scans.
func TestEmptiedFileWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "text")
		r.start(t, nil)
		synctest.Wait()
		r.tree.write("a.md", "")
		r.engine.Hint(false, false)
		pass(59 * time.Second)
		r.remote.want("empty for 59 s", "a.md", "text")
		report := r.engine.Report()
		if len(report.Held) != 1 || report.Held[0].Reason != api.HeldEmpty {
			t.Errorf("held %+v, want the empty file", report.Held)
		}
		pass(5 * time.Second)
		r.remote.want("empty for a minute", "a.md", "")
	})
}

// TestInSyncIsTheTruth: the word is said only when nothing has to travel.
func TestInSyncIsTheTruth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("mine.md", "mine")
		r.remote.set("theirs.md", "theirs")
		r.start(t, onDemand)
		for _, test := range []struct {
			mode teamsync.Mode
			want teamsync.Word
		}{
			{teamsync.Mode{DryRun: true}, teamsync.Pending},
			{teamsync.Mode{NoPush: true, NoPull: true}, teamsync.Pending},
			{teamsync.Mode{NoPush: true}, teamsync.Pending},
			{teamsync.Mode{}, teamsync.InSync},
		} {
			if got := r.sync(t, test.mode); got.Word != test.want || got.Err != nil {
				t.Errorf("after a cycle of mode %+v: %+v, want %s", test.mode, got, test.want)
			}
		}
	})
}
