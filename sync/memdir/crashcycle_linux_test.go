package memdir_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/teammem/teammemd/api"
	teamsync "github.com/teammem/teammemd/sync"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

// crashCycle says where the cycle that is interrupted has its files.
const crashCycle = "TEAMMEMD_TEST_CRASH_CYCLE"

var (
	cycleBases  = map[string]string{"known.md": "base", "edited.md": "older", "retired.md": "retired", "gone.md": "deleted here"}
	cycleBefore = map[string]string{"known.md": "base", "edited.md": "edited here", "retired.md": "retired", "both/same.md": "the same on both sides"}
	cycleAfter  = map[string]string{"known.md": "pulled", "edited.md": "pulled too", "new.md": "new", "some/dir/new.md": "deep", "gone.md": "deleted here", "both/same.md": "the same on both sides"}
)

// team is a server that others have written to, and that nobody writes to now.
type team struct{ t *testing.T }

func (f team) Confirm(context.Context, api.Position, api.Checksum) error { return nil }

func (f team) Hashes(context.Context, api.Checksum) (*api.View, error) {
	view := &api.View{Epoch: "e", Version: 9, Checksum: api.SumString("view"), Sums: map[api.Key]api.Checksum{}, Tombs: map[api.Key]uint64{key(f.t, "retired.md"): 8}}
	for name, content := range cycleAfter {
		view.Sums[key(f.t, name)] = api.SumString(content)
	}
	return view, nil
}

func (f team) Push(_ context.Context, batch api.Batch) (api.Pushed, error) {
	f.t.Errorf("a push of %d entries", len(batch.Entries))
	return api.Pushed{}, api.ErrUnavailable
}

func (f team) Pull(_ context.Context, keys []api.Key) (api.Pulled, error) {
	var pulled api.Pulled
	for name, content := range cycleAfter {
		pulled.Entries = append(pulled.Entries, api.Incoming{Key: key(f.t, name), Content: content, Sum: api.SumString(content)})
	}
	return pulled, nil
}

func (f team) Follow(context.Context, func(api.Position)) error { return api.ErrNotFound }

// clean finds no secrets.
type clean struct{}

func (clean) Check(context.Context, api.Key, string, api.Vouched) ([]api.Finding, error) {
	return nil, nil
}

func (clean) Rules() string { return "" }

// runCycle runs one whole cycle, as a process does that has just started: lock,
// load, recover, sync.
func runCycle(t *testing.T, base string) teamsync.Report {
	t.Helper()
	state, err := statedir.Open(filepath.Join(base, "state"))
	if err == nil {
		err = state.Lock()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}()
	memory, err := state.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := memdir.Open(memdir.Options{
		Root: filepath.Join(base, "team"), Staging: state.Staging(), Save: state.Save,
		Known: func(k api.Key) []api.Checksum {
			return append([]api.Checksum{memory.Bases[k].Sum}, memory.Bases[k].Ring...)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine := teamsync.New(teamsync.Options{Tree: tree, Disk: tree, Remote: team{t}, State: state, Guard: clean{}, OnDemand: true, Seed: 1})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- engine.Run(ctx) }()
	report, err := engine.Sync(t.Context(), teamsync.Mode{})
	if err != nil {
		t.Error(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := tree.Recover(t.Context()); err != nil { // what lingers goes now
		t.Error(err)
	}
	return report
}

// TestCycleChild is the process that is killed. It does nothing in an ordinary run.
func TestCycleChild(t *testing.T) {
	if base := os.Getenv(crashCycle); base != "" {
		t.Log(runCycle(t, base))
	}
}

// cycleWorld is a machine that was in step and has edited, deleted and kept files
// since, while the team changed, added and retired some.
func cycleWorld(t *testing.T) string {
	t.Helper()
	base := memoryDir(t)
	for name, content := range cycleBefore {
		path := filepath.Join(base, "team", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	state, err := statedir.Open(filepath.Join(base, "state"))
	if err != nil {
		t.Fatal(err)
	}
	record := api.Record{View: &api.Position{Epoch: "e", Version: 7}, Bases: map[api.Key]api.Base{}}
	for name, content := range cycleBases {
		record.Bases[key(t, name)] = api.Base{Sum: api.SumString(content)}
	}
	if err := state.Commit(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	if err := state.Close(); err != nil {
		t.Fatal(err)
	}
	return base
}

// TestF11KilledCycle kills a process before each system call of one whole cycle of
// the engine that changes anything: scan, conflict, saved copies, exchange,
// retirement, restored deletion, journal. Each file is wholly old or wholly new,
// and the next start ends where an undisturbed one does, with every text that was
// displaced among the saved copies once.
func TestF11KilledCycle(t *testing.T) {
	for n := 1; ; n++ {
		base := cycleWorld(t)
		killed := runKilled(t, n, false, append(os.Environ(), crashCycle+"="+base, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0"), "^TestCycleChild$")
		w := &crashed{T: t, base: base}
		when := fmt.Sprintf("killed at call %d", n)
		for name := range cycleAfter {
			if got := w.content(name); got != cycleBefore[name] && got != cycleAfter[name] {
				t.Errorf("%s: %s holds %q", when, name, got)
			}
		}
		if report := runCycle(t, base); report.Word != teamsync.InSync || len(report.Held) > 0 {
			t.Errorf("%s: the next start ends %s, %v, held %v", when, report.Word, report.Err, report.Held)
		}
		got := map[string]string{}
		for _, name := range []string{"known.md", "edited.md", "new.md", "some/dir/new.md", "gone.md", "retired.md", "both/same.md"} {
			if content := w.content(name); content != "" {
				got[name] = content
			}
		}
		diff(t, when+": the files after the next start", got, cycleAfter)
		var err error
		if w.state, err = statedir.Open(filepath.Join(base, "state")); err != nil {
			t.Fatal(err)
		}
		saved := map[string]int{}
		copies, err := w.state.Copies()
		if err != nil {
			t.Errorf("%s: %v", when, err)
		}
		for _, c := range copies {
			_, text, err := w.state.ReadCopy(c.ID)
			if err != nil {
				t.Errorf("%s: %v", when, err)
			}
			saved[c.Key.String()+": "+text]++
		}
		if want := map[string]int{"edited.md: edited here": 1, "retired.md: retired": 1}; !cmp.Equal(saved, want) {
			t.Errorf("%s: saved copies %v, want %v", when, saved, want)
		}
		if err := w.state.Lock(); err != nil {
			t.Fatal(err)
		}
		w.checkLeftovers(when)
		if !killed {
			t.Logf("FIGURE killed at each of %d system calls of one cycle that change something", n-1)
			if n < 60 {
				t.Errorf("killed %d times only: a cycle makes more such calls than that", n-1)
			}
			return
		}
	}
}

// TestAgreedIsDurable reads the order of the system calls of a cycle that finds a
// file equal on both sides: its content and every directory on the way to it are
// durable before the journal says so.
func TestAgreedIsDurable(t *testing.T) {
	requireStrace(t)
	base := cycleWorld(t)
	trace := filepath.Join(base, "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-qq", "-o", trace, "-e", "trace=fsync,fdatasync", os.Args[0], "-test.run=^TestCycleChild$")
	cmd.Env = append(os.Environ(), crashCycle+"="+base)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Index(string(text), "/state/journal")
	for _, path := range []string{"/team/both/same.md>", "/team/both>", "/team>"} {
		if at := strings.Index(string(text), path); at < 0 || at > recorded {
			t.Errorf("%s is not durable before the journal:\n%s", path, text)
		}
	}
}
