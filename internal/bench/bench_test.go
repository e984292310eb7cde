package bench_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/bench"
)

// TestSurviveSeesWhatIsLost races a program that lets one side win and keeps no
// copies.
func TestSurviveSeesWhatIsLost(t *testing.T) {
	t.Setenv(canary, "seen")
	m := options(t, "mirror")
	report, err := bench.Survive(t.Context(), m.options, bench.Race{Rounds: 1, Files: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Results) != 1 {
		t.Fatalf("%+v, want one result", report)
	}
	got := report.Results[0]
	if got.AsPromised() || got.Settled <= 0 {
		t.Errorf("%+v, want it to need time and to break its promise", got)
	}
	got.Within, got.Settled = 0, 0
	if diff := cmp.Diff(bench.RaceResult{Name: "teammemd", Rounds: 1, Files: 3, Edits: 6, Lost: 3, Equal: 3}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"measuring teammemd"}, m.lines); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	m.apart(t)
	m.leftNothing(t)
}

func TestLatencyHasBothWays(t *testing.T) {
	t.Parallel()
	m := options(t, "mirror")
	report, err := bench.Latency(t.Context(), m.options, 3)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range report.Results {
		names = append(names, r.Name)
		if r.Trials != 3 || r.Min <= 0 || r.Min > r.P50 || r.P50 > r.P95 || r.P95 > r.Max {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff([]string{"teammemd", "server to client"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.leftNothing(t)
}

// TestProgramThatEnds measures a program that does not stay: its last words are
// told, and the report can be shown.
func TestProgramThatEnds(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	m := options(t, "dies")
	m.options.Compare = true
	report, err := bench.Survive(t.Context(), m.options, bench.Race{Rounds: 1, Files: 1})
	if err == nil || err.Error() != "measuring teammemd: dies ended: the disk is on fire" {
		t.Errorf("%v", err)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); !strings.Contains(got, `"debounce_ms":1.5,"results":[],"missing":[{"program":"syncthing","package":"syncthing"},{"program":"unison","package":"unison"}]`) {
		t.Errorf("%s", got)
	}
	want := []string{
		"syncthing is not installed; on Debian: apt-get install syncthing",
		"unison is not installed; on Debian: apt-get install unison",
		"measuring teammemd",
	}
	if diff := cmp.Diff(want, m.lines); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
	m.leftNothing(t)
}

// TestInterrupted ends a measurement whose program never gets ready: it returns
// the cause, when the process is gone.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	m := options(t, "mute")
	m.options.Progress = nil
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		report, err := bench.Latency(ctx, m.options, 1)
		if report.Results == nil || report.Missing == nil {
			err = errors.Join(err, errors.New("a list is nil"))
		}
		ended <- err
	}()
	pid := awaitPID(t, filepath.Join(m.options.TempDir, "teammemd-bench-*", "server", "pid"))
	cancel(enough)
	select {
	case err := <-ended:
		if !errors.Is(err, enough) || strings.Contains(err.Error(), "nil") {
			t.Errorf("%v, want %v", err, enough)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if p, err := os.FindProcess(pid); err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d is still running", pid)
	}
	m.leftNothing(t)
}

// awaitPID waits for the one file that matches, and reads the number in it.
func awaitPID(t *testing.T, pattern string) int {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-tick.C {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			continue
		}
		text, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatalf("no %s", pattern)
	return 0
}

// TestNothingToMeasure refuses before anything is started.
func TestNothingToMeasure(t *testing.T) {
	t.Parallel()
	for _, race := range []bench.Race{{}, {Rounds: 1}, {Files: 1}, {Rounds: -1, Files: 1}} {
		if _, err := bench.Survive(t.Context(), bench.Options{}, race); !errors.Is(err, api.ErrUsage) {
			t.Errorf("%+v: %v, want a usage error", race, err)
		}
	}
	for _, trials := range []int{0, -1} {
		if _, err := bench.Latency(t.Context(), bench.Options{}, trials); !errors.Is(err, api.ErrUsage) {
			t.Errorf("%d trials: %v, want a usage error", trials, err)
		}
	}
}

// TestNowhereToMeasure has no directory for what it would write.
func TestNowhereToMeasure(t *testing.T) {
	t.Parallel()
	m := options(t, "mirror")
	m.options.TempDir = filepath.Join(m.options.TempDir, "missing")
	if _, err := bench.Latency(t.Context(), m.options, 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v, want that there is no such directory", err)
	}
	if len(m.lines) > 0 {
		t.Errorf("%q, want nothing said of what did not begin", m.lines)
	}
}
