package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// benchMachine is a machine whose temporary files are its own, so that what a
// measurement leaves behind can be seen.
func benchMachine(t *testing.T) (m *machine, tmp string) {
	t.Helper()
	m = newMachine(t, "ada")
	tmp = filepath.Join(m.home, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	m.extra = []string{"TMPDIR=" + tmp, "TMP=" + tmp, "TEMP=" + tmp}
	return m, tmp
}

// leftNothing sees that a measurement removed what it made and touched nothing
// of its user's.
func leftNothing(t *testing.T, m *machine, tmp string) {
	t.Helper()
	for _, dir := range []string{tmp, m.xdg("config"), m.xdg("state"), m.xdg("data"), m.team} {
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q, %v", left, err)
		}
	}
}

// TestBenchSurvive runs the race of `bench survive`, small, as text and as JSON.
func TestBenchSurvive(t *testing.T) {
	t.Parallel()
	m, tmp := benchMachine(t)
	o := m.ok("bench", "survive", "--files", "5", "--rounds", "2", "--debounce", "100ms", "--json")
	got := decode[struct {
		Schema  int
		Results []struct {
			Name                                                         string
			Rounds, Files, Edits, Lost, Equal, Extra, Copies, Restorable int
		}
		Missing []struct{}
	}](t, o.stdout)
	if got.Schema != 1 || len(got.Results) != 1 || got.Missing == nil {
		t.Fatalf("%s", o.stdout)
	}
	r := got.Results[0]
	if r.Name != "teammemd" || r.Rounds != 2 || r.Files != 10 || r.Edits != 20 || r.Lost != 0 || r.Equal != 10 || r.Extra != 0 || r.Copies != 10 || r.Restorable != 10 {
		t.Errorf("%+v, want 20 edits of 10 files, 10 equal and 10 copies", r)
	}
	leftNothing(t, m, tmp)

	o = m.ok("bench", "survive", "--files", "3", "--debounce", "50ms")
	fields := strings.Fields(strings.Split(o.stdout, "\n")[1])
	if want := "teammemd 6 0 3 of 3 0 3 3"; !strings.HasPrefix(strings.Join(fields, " "), want) {
		t.Errorf("%q, want it to begin %q", strings.Join(fields, " "), want)
	}
	leftNothing(t, m, tmp)
}

// TestBenchLatency measures a few writes.
func TestBenchLatency(t *testing.T) {
	t.Parallel()
	m, tmp := benchMachine(t)
	o := m.ok("bench", "latency", "--trials", "3", "--debounce", "100ms", "--json")
	got := decode[struct {
		Schema  int
		Results []struct {
			Name   string
			Trials int
			P50    float64 `json:"p50_ms"`
			P95    float64 `json:"p95_ms"`
			Min    float64 `json:"min_ms"`
			Max    float64 `json:"max_ms"`
		}
	}](t, o.stdout)
	if got.Schema != 1 || len(got.Results) != 2 || got.Results[0].Name != "teammemd" || got.Results[1].Name != "server to client" {
		t.Fatalf("%s", o.stdout)
	}
	for _, r := range got.Results {
		if r.Trials != 3 || r.Min <= 0 || r.Min > r.P50 || r.P50 > r.P95 || r.P95 > r.Max {
			t.Errorf("%+v", r)
		}
	}
	if min := got.Results[0].Min; min < 100 {
		t.Errorf("a write is visible after %.1f ms, before the wait of 100 ms was over", min)
	}
	leftNothing(t, m, tmp)
}

// TestBenchWithoutPeers compares where there is nothing to compare with.
func TestBenchWithoutPeers(t *testing.T) {
	t.Parallel()
	m, tmp := benchMachine(t)
	m.extra = append(m.extra, "PATH="+tmp)
	o := m.ok("bench", "latency", "--trials", "1", "--debounce", "50ms", "--compare")
	for _, want := range []string{"apt-get install syncthing", "apt-get install unison"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("it does not say %q:\n%s", want, o.stderr)
		}
	}
	leftNothing(t, m, tmp)
}

// TestBenchInterrupted stops a measurement half way: no process and no file is
// left.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	m, tmp := benchMachine(t)
	p := m.start("bench", "latency", "--trials", "1000", "--debounce", "100ms")
	await(t, time.Minute, "the measurement to be under way", func() bool {
		notes, err := filepath.Glob(filepath.Join(tmp, "teammemd-bench-*", "ben", "team", "note-0002.md"))
		return err == nil && len(notes) > 0
	})
	p.signal(os.Interrupt)
	if code := p.wait(); code != 1 || !strings.Contains(p.talk(), "interrupted") {
		t.Errorf("exit code %d, %q, want 1 and a word that it was interrupted", code, p.talk())
	}
	leftNothing(t, m, tmp)
	if ps, err := exec.Command("ps", "-e", "-o", "args").Output(); err == nil && strings.Contains(string(ps), tmp) {
		t.Error("a process of the measurement is still running")
	}
}

// TestBenchUsage refuses counts that make no sense.
func TestBenchUsage(t *testing.T) {
	t.Parallel()
	m := newMachine(t, "ada")
	for _, args := range []string{
		"survive --rounds 0", "survive --files 0", "survive --files 100000", "latency --trials -1", "latency --debounce 1ns", "survive --debounce 1h",
	} {
		complains(t, m.run(append([]string{"bench"}, strings.Fields(args)...)...), 2)
	}
}
