package sync_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
)

func onDemand(o *teamsync.Options) { o.OnDemand = true }

// pass lets fake time go by, and everything that it wakes come to rest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestOneCycleBothWays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("mine.md", "mine")
		r.remote.set("theirs.md", "theirs")
		r.start(t, onDemand)
		got := r.sync(t, teamsync.Mode{})
		if got.Word != teamsync.InSync || got.Sent != 1 || got.Received != 1 || got.Pending != 0 || got.Err != nil {
			t.Errorf("report %+v", got)
		}
		r.tree.want("after a cycle", "theirs.md", "theirs")
		r.remote.want("after a cycle", "mine.md", "mine")
		if again := r.sync(t, teamsync.Mode{}); again.Sent+again.Received != 0 || again.Unchanged != 2 {
			t.Errorf("the second cycle: %+v", again)
		}
		if len(r.remote.pushes) != 1 {
			t.Errorf("%d pushes, want 1: our own echo is no edit", len(r.remote.pushes))
		}
	})
}

func TestModes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("mine.md", "mine")
		r.remote.set("theirs.md", "theirs")
		r.start(t, onDemand)
		if got := r.sync(t, teamsync.Mode{DryRun: true}); got.Sent != 1 || got.Received != 1 || len(r.remote.pushes) != 0 {
			t.Errorf("dry run: %+v, %d pushes", got, len(r.remote.pushes))
		}
		if _, here := r.tree.read("theirs.md"); here {
			t.Error("a dry run wrote a file")
		}
		if got := r.sync(t, teamsync.Mode{NoPush: true}); got.Sent != 0 || got.Received != 1 || got.Pending != 1 {
			t.Errorf("pull only: %+v", got)
		}
		if got := r.sync(t, teamsync.Mode{NoPull: true}); got.Sent != 1 || got.Word != teamsync.InSync {
			t.Errorf("push only: %+v", got)
		}
	})
}

func TestConflictKeepsBothTexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "base")
		r.start(t, onDemand)
		r.sync(t, teamsync.Mode{})
		r.tree.write("a.md", "mine")
		r.remote.set("a.md", "theirs")
		got := r.sync(t, teamsync.Mode{})
		if len(got.Conflicts) != 1 || got.Conflicts[0].Key.String() != "a.md" || got.Received != 1 || got.Sent != 0 {
			t.Errorf("report %+v", got)
		}
		r.tree.want("in conflict", "a.md", "theirs")
		r.state.wantCopy("mine", "conflict")
	})
}

func TestDeletionIsRestoredAfterTheDebounce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "text")
		r.start(t, nil)
		synctest.Wait()
		r.tree.remove("a.md")
		r.engine.Hint(false, false)
		synctest.Wait()
		if _, here := r.tree.read("a.md"); here {
			t.Fatal("restored at once: an editor's rename would be disturbed")
		}
		pass(3 * time.Second)
		r.tree.want("after the debounce", "a.md", "text")
		if report := r.engine.Report(); report.Restored != 1 {
			t.Errorf("report %+v", report)
		}
	})
}

func TestSecretsStayAndOthersGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "fine")
		r.tree.write("b.md", "line one\nhush hush")
		r.tree.write("c.md", "\x00binary")
		r.start(t, onDemand)
		got := r.sync(t, teamsync.Mode{})
		if got.Sent != 1 || len(got.Held) != 2 {
			t.Fatalf("report %+v", got)
		}
		if h := got.Held[0]; h.Path != "b.md" || h.Reason != api.HeldSecret || h.Rule != "hush-rule" || h.Line != 2 {
			t.Errorf("held %+v", h)
		}
		if h := got.Held[1]; h.Path != "c.md" || h.Reason != api.HeldNotText {
			t.Errorf("held %+v", h)
		}
		// The server's side changes meanwhile: the held file is not displaced.
		r.remote.set("b.md", "clean text of a teammate")
		if got := r.sync(t, teamsync.Mode{}); len(got.Held) != 2 {
			t.Errorf("report %+v", got)
		}
		r.tree.want("held, and changed on the server", "b.md", "line one\nhush hush")
	})
}

func TestSecretOnTheServerIsNotHandedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.remote.set("a.md", "hush")
		r.start(t, onDemand)
		for range 2 {
			got := r.sync(t, teamsync.Mode{})
			if len(got.Held) != 1 || got.Held[0].Reason != api.HeldSecretOnServer || got.Received != 0 {
				t.Errorf("report %+v", got)
			}
		}
		r.remote.set("a.md", "clean")
		if got := r.sync(t, teamsync.Mode{}); len(got.Held) != 0 || got.Received != 1 {
			t.Errorf("after it was cleaned: %+v", got)
		}
	})
}

func TestRetiredKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("same.md", "text")
		r.tree.write("edited.md", "text")
		r.start(t, onDemand)
		r.sync(t, teamsync.Mode{})
		r.remote.forget("same.md")
		r.remote.forget("edited.md")
		r.tree.write("edited.md", "my new text")
		got := r.sync(t, teamsync.Mode{})
		if len(got.Held) != 1 || got.Held[0].Reason != api.HeldForgottenOnServer || got.Held[0].Path != "edited.md" {
			t.Errorf("report %+v", got)
		}
		if _, here := r.tree.read("same.md"); here {
			t.Error("a retired file is still here")
		}
		r.state.wantCopy("text", "retired")
		r.tree.write("same.md", "text") // it comes back, as from a backup
		if got := r.sync(t, teamsync.Mode{}); len(r.remote.pushes) != 1 || got.Sent != 0 {
			t.Errorf("a retired file was resurrected: %+v", got)
		}
	})
}

func TestVerdictsAreIsolated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tests := map[string]error{
			"named":   &api.Error{Err: api.ErrSecretFound, Details: api.Details{Findings: []api.Finding{{Key: "n/150.md", Line: 1, Rule: "r", Reason: "why"}}}},
			"unnamed": &api.Error{Err: api.ErrBadRequest, Message: "no"},
		}
		for name, verdict := range tests {
			r := newRig(t)
			for i := range 300 {
				r.tree.write(fmt.Sprintf("n/%03d.md", i), fmt.Sprintf("text %d", i))
			}
			r.tree.write("n/150.md", "poison")
			calls := 0
			r.remote.before = func(call string, batch api.Batch) error {
				if call != "push" {
					return nil
				}
				calls++
				if slices.ContainsFunc(batch.Entries, func(o api.Outgoing) bool { return o.Content == "poison" }) {
					return verdict
				}
				return nil
			}
			r.start(t, onDemand)
			got := r.sync(t, teamsync.Mode{})
			if got.Sent != 299 || len(got.Held) != 1 || got.Held[0].Reason != api.HeldRefusedByServer || got.Held[0].Path != "n/150.md" {
				t.Errorf("%s: report %+v", name, got)
			}
			if calls > 25 {
				t.Errorf("%s: %d pushes to isolate one key of 300", name, calls)
			}
		}
	})
}

func TestLostRaceIsPlannedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "base")
		r.start(t, onDemand)
		r.sync(t, teamsync.Mode{})
		r.tree.write("a.md", "mine")
		raced := false
		r.remote.before = func(call string, _ api.Batch) error {
			if call == "push" && !raced {
				raced = true
				r.remote.set("a.md", "theirs, a moment earlier")
			}
			return nil
		}
		got := r.sync(t, teamsync.Mode{})
		if !raced || len(got.Conflicts) != 1 || got.Word != teamsync.InSync {
			t.Errorf("report %+v", got)
		}
		r.tree.want("after a lost race", "a.md", "theirs, a moment earlier")
	})
}

func TestStates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.tree.write("a.md", "text")
		r.start(t, onDemand)
		r.sync(t, teamsync.Mode{})
		r.tree.write("a.md", "edited")
		for _, tt := range []struct {
			err  error
			word teamsync.Word
		}{
			{api.ErrOffline, teamsync.Offline},
			{api.ErrBadAnswer, teamsync.Offline},
			{api.Errorf(api.ErrUnavailable, ""), teamsync.Offline},
			{api.Errorf(api.ErrSignedOut, ""), teamsync.SignedOut},
			{api.Errorf(api.ErrForbidden, ""), teamsync.NoAccess},
			{api.Errorf(api.ErrNotFound, ""), teamsync.NoAccess},
			{errors.New("odd"), teamsync.Halted},
		} {
			r.remote.before = func(string, api.Batch) error { return tt.err }
			got := r.sync(t, teamsync.Mode{})
			if got.Word != tt.word || got.Err == nil || got.Pending != 1 {
				t.Errorf("%v: %s with %d pending, %v; want %s with 1", tt.err, got.Word, got.Pending, got.Err, tt.word)
			}
		}
		r.remote.before = nil
		r.tree.gone = true
		if got := r.sync(t, teamsync.Mode{}); got.Word != teamsync.RootMissing {
			t.Errorf("without a root: %+v", got)
		}
		r.tree.gone = false
		if got := r.sync(t, teamsync.Mode{}); got.Word != teamsync.InSync || got.Sent != 1 {
			t.Errorf("after all troubles: %+v", got)
		}
	})
}

func TestReaderStillReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.remote.set("theirs.md", "theirs")
		r.tree.write("mine.md", "mine")
		r.remote.fail("push", api.Errorf(api.ErrForbidden, "this token only reads"))
		r.start(t, onDemand)
		got := r.sync(t, teamsync.Mode{})
		if got.Received != 1 || got.Word != teamsync.NoAccess || !errors.Is(got.Err, api.ErrForbidden) {
			t.Errorf("report %+v", got)
		}
	})
}

func TestServerSetBackStopsEverything(t *testing.T) {
	for _, how := range []teamsync.Resolution{teamsync.AcceptServer, teamsync.Reupload} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.tree.write("a.md", "old")
				r.start(t, onDemand)
				r.sync(t, teamsync.Mode{})
				r.tree.write("a.md", "new")
				r.sync(t, teamsync.Mode{})
				r.remote.mu.Lock() // the operator restores a backup
				r.remote.epoch, r.remote.version = "e2", 1
				r.remote.live[key(t, "a.md")] = "old"
				r.remote.mu.Unlock()
				got := r.sync(t, teamsync.Mode{})
				if content, _ := r.tree.read("a.md"); got.Word != teamsync.ServerChanged || content != "new" {
					t.Fatalf("report %+v, a.md has %q", got, content)
				}
				r.engine.Resolve(how)
				if got := r.sync(t, teamsync.Mode{}); got.Word != teamsync.InSync {
					t.Fatalf("after the word of a person: %+v", got)
				}
				switch how {
				case teamsync.Reupload:
					r.tree.want("after the word of a person", "a.md", "new")
					r.remote.want("after the word of a person", "a.md", "new")
				case teamsync.AcceptServer:
					r.tree.want("after the word of a person", "a.md", "old")
					r.state.wantCopy("new", "conflict")
				}
			})
		})
	}
}

func TestDaemonHearsAndTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t, nil)
		synctest.Wait()
		r.remote.set("theirs.md", "1")
		synctest.Wait()
		r.tree.want("after a notice", "theirs.md", "1")
		r.tree.write("mine.md", "2")
		r.engine.Hint(false, false)
		synctest.Wait()
		r.remote.want("after a hint", "mine.md", "2")
		looks := r.remote.looks
		pass(time.Minute)
		if r.remote.looks != looks {
			t.Errorf("%d looks in a quiet minute of a server that is followed", r.remote.looks-looks)
		}
	})
}

func TestBusyFilesAreReadAsTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t, nil)
		synctest.Wait()
		for _, busy := range []bool{false, true, false} {
			r.engine.Hint(false, busy)
			synctest.Wait()
			if r.tree.rule.Twice != busy {
				t.Errorf("a hint with busy %v reads by the rule %+v", busy, r.tree.rule)
			}
		}
	})
}

func TestPollsWithoutNotices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.remote.fail("follow", api.ErrNotFound)
		r.start(t, nil)
		synctest.Wait()
		r.remote.set("theirs.md", "1")
		pass(40 * time.Second)
		r.tree.want("after 40 s, and a poll", "theirs.md", "1")
	})
}

func TestStopPushesWhatIsHere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stop := r.start(t, func(o *teamsync.Options) { o.Unsettled = func() bool { return true } })
		synctest.Wait()
		r.tree.write("late.md", "a moment before the end")
		stop()
		r.remote.want("after the end", "late.md", "a moment before the end")
	})
}

// TestMonthOffline keeps a server down for 30 days with edits every few hours:
// bounded attempts, a handful of log lines, and everything arrives at its end.
func TestMonthOffline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		attempts := 0
		r.remote.before = func(call string, _ api.Batch) error {
			if call == "hashes" {
				attempts++
			}
			return fmt.Errorf("%w: connection refused", api.ErrOffline)
		}
		var log strings.Builder
		stop := r.start(t, func(o *teamsync.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			o.Timing = teamsync.Timing{Poll: time.Minute}
		})
		for day := range 30 {
			for i := range 6 {
				r.tree.write(fmt.Sprintf("d%02d/%d.md", day, i), "text")
				r.engine.Hint(false, false)
				pass(4 * time.Hour)
			}
		}
		synctest.Wait()
		if attempts < 5_000 || attempts > 40_000 {
			t.Errorf("%d attempts in 30 days, want about one each 2.5 minutes", attempts)
		}
		if got := r.engine.Report(); got.Word != teamsync.Offline || got.Pending != 180 || got.NextRetry.IsZero() {
			t.Errorf("report %+v", got)
		}
		r.remote.meet(nil)
		pass(6 * time.Minute)
		if got := r.engine.Report(); got.Word != teamsync.InSync || len(r.remote.live) != 180 {
			t.Errorf("after the server came back: %+v, %d entries", got, len(r.remote.live))
		}
		stop()
		if lines := strings.Count(log.String(), "\n"); lines > 5 {
			t.Errorf("%d log lines:\n%s", lines, log.String())
		}
	})
}

func TestSyncEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.engine = teamsync.New(teamsync.Options{Tree: r.tree, Disk: r.tree, Remote: r.remote, State: r.state, Guard: guards{}, OnDemand: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.engine.Sync(ctx, teamsync.Mode{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sync without Run: %v", err)
		}
	})
}
