package memdir_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
	"github.com/teammem/teammemd/tests/killat"
)

// The scenario that is interrupted: what is in the tree before, what is placed.
const (
	crashBase    = "TEAMMEMD_TEST_CRASH_BASE"
	crashWithout = "TEAMMEMD_TEST_CRASH_WITHOUT_EXCHANGE"
)

var (
	crashBefore = map[string]string{"known.md": "base", "edited.md": "edited here", "retired.md": "retired"}
	crashAfter  = map[string]string{"known.md": "pulled known", "edited.md": "pulled edited", "new.md": "pulled new", "some/dir/new.md": "pulled deep"}
)

// TestCrashChild is the process that is killed, or whose system calls fail. It
// does nothing in an ordinary run.
func TestCrashChild(t *testing.T) {
	base := os.Getenv(crashBase)
	if base == "" {
		return
	}
	state, err := statedir.Open(filepath.Join(base, "state"))
	if err != nil {
		t.Fatal(err)
	}
	tree := crashTree(t, base, state)
	var placements []api.Placement
	for _, name := range []string{"known.md", "edited.md", "new.md", "some/dir/new.md"} {
		p := put(t, name, crashAfter[name], crashBefore[name])
		if name == "edited.md" {
			p.Known = []api.Checksum{api.SumString("older")}
		}
		placements = append(placements, p)
	}
	// As the engine does it: what is in place becomes the base, and no sooner.
	record := api.Record{View: &crashView, Bases: map[api.Key]api.Base{}}
	for i, placed := range tree.Place(t.Context(), placements) {
		t.Log(placed)
		if placed.Err == nil {
			record.Bases[placements[i].Key] = api.Base{Sum: placements[i].Sum}
		}
	}
	t.Log(state.Commit(t.Context(), record))
	retired := key(t, "retired.md")
	if err := tree.Retire(t.Context(), retired, []api.Checksum{api.SumString("retired")}); err == nil {
		t.Log(state.Commit(t.Context(), api.Record{Bases: map[api.Key]api.Base{retired: {Tomb: 7}}}))
	}
	t.Log(tree.Recover(t.Context())) // what lingers goes now
}

// crashView is the server's position that the interrupted run records.
var crashView = api.Position{Epoch: "after", Version: 7}

func crashTree(t *testing.T, base string, state *statedir.Dir) *memdir.Tree {
	t.Helper()
	tree, err := memdir.Open(memdir.Options{
		Root: filepath.Join(base, "team"), Staging: state.Staging(), Save: state.Save,
		WithoutExchange: os.Getenv(crashWithout) != "",
		Known:           func(api.Key) []api.Checksum { return []api.Checksum{api.SumString("base")} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestF11KilledAnywhere kills the process before each system call of one whole
// apply, the saved copies and the state's journal included. Each file is then
// wholly old or wholly new, nothing counts as agreed that is not in place, and a
// restart leaves nothing behind and loses nothing. A short run takes only the
// calls that change something: between them nothing does.
func TestF11KilledAnywhere(t *testing.T) {
	every := !testing.Short()
	for _, without := range []string{"", "yes"} {
		t.Run(fmt.Sprintf("without exchange %q", without), func(t *testing.T) {
			n := 1
			for w := crashWorld(t); runKilled(t, n, every, w.env(without), "^TestCrashChild$"); w = crashWorld(t) {
				when := fmt.Sprintf("killed at call %d", n)
				w.check(when, without)
				w.checkRetired(when)
				n++
			}
			t.Logf("FIGURE killed at each of %d system calls of one apply", n-1)
			if n < 60 {
				t.Errorf("killed %d times only: an apply makes more calls than that", n-1)
			}
		})
	}
}

// TestF12FailingCalls makes system calls fail, as a full or broken disk does. The
// program goes on: whatever failed, nothing is torn, left over or lost.
func TestF12FailingCalls(t *testing.T) {
	requireStrace(t)
	for _, fault := range []string{
		"write:error=ENOSPC", "write:error=EIO", "fsync:error=EIO", "fsync:error=ENOSPC", "renameat:error=ENOSPC",
		"renameat2:error=ENOSPC", "mkdirat:error=ENOSPC", "utimensat:error=EIO", "unlinkat:error=EIO", "fchmod:error=EROFS",
	} {
		t.Run(fault, func(t *testing.T) {
			for _, n := range crashPoints() {
				w := crashWorld(t)
				w.run(fmt.Sprintf("inject=%s:when=%d", fault, n))
				w.check(fmt.Sprintf("%s at %d", fault, n), "")
			}
		})
	}
}

// runKilled runs one test of this program, and kills it before the nth system call
// that changes something; every counts all calls. It reports false when the test
// got to its end first.
func runKilled(t *testing.T, n int, every bool, env []string, test string) (killed bool) {
	t.Helper()
	end, err := killat.Program{Path: os.Args[0], Args: []string{"-test.run=" + test}, Env: env, Every: every}.Before(n)
	if errors.Is(err, killat.ErrNoTrace) {
		t.Skipf("SKIP: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return end.Killed
}

// crashPoints are the counts of a system call at which a run is interrupted:
// some, or all with TEAMMEMD_TEST_CRASH=all.
func crashPoints() []int {
	if os.Getenv("TEAMMEMD_TEST_CRASH") != "all" {
		return []int{1, 2, 3, 5, 8, 13}
	}
	var all []int
	for n := range 60 {
		all = append(all, n+1)
	}
	return all
}

func requireStrace(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIP: short run")
	}
	out, err := exec.CommandContext(t.Context(), "strace", "-f", "-qq", "-o", os.DevNull, "true").CombinedOutput()
	if err != nil {
		t.Skipf("SKIP: strace does not work here (install strace): %v %s", err, out)
	}
}

type crashed struct {
	*testing.T
	base  string
	state *statedir.Dir
}

func crashWorld(t *testing.T) *crashed {
	t.Helper()
	w := &crashed{T: t, base: memoryDir(t)}
	if err := os.Mkdir(filepath.Join(w.base, "team"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range crashBefore {
		if err := os.WriteFile(filepath.Join(w.base, "team", name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.state, err = statedir.Open(filepath.Join(w.base, "state")); err != nil {
		t.Fatal(err)
	}
	return w
}

// env is what the scenario needs to know.
func (w *crashed) env(without string) []string {
	return append(os.Environ(), crashBase+"="+w.base, crashWithout+"="+without, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
}

// run runs the scenario with system calls that fail.
func (w *crashed) run(inject string) {
	w.Helper()
	call, _, _ := strings.Cut(strings.TrimPrefix(inject, "inject="), ":")
	cmd := exec.CommandContext(w.Context(), "strace", "-f", "-qq", "-o", os.DevNull,
		"-e", "trace="+call, "-e", inject, os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = w.env("")
	if err := cmd.Run(); err != nil {
		w.Errorf("%s: %v", inject, err)
	}
}

// check looks at what an interrupted run left, recovers, and looks again.
func (w *crashed) check(when, without string) {
	w.Helper()
	w.checkTree(when, without != "")
	w.checkState(when)
	if err := crashTree(w.T, w.base, w.state).Recover(w.Context()); err != nil {
		w.Errorf("%s: %v", when, err)
	}
	w.checkTree(when+", recovered", false)
	w.checkLeftovers(when)
	for name, unknown := range map[string]string{"edited.md": "edited here", "retired.md": "retired"} {
		if w.content(name) != unknown && !w.isSaved(unknown) {
			w.Errorf("%s: %q is lost", when, unknown)
		}
	}
}

// checkState wants a journal that can be read, in which nothing counts as agreed
// that is not in place, and saved copies that are whole.
func (w *crashed) checkState(when string) {
	w.Helper()
	if err := w.state.Lock(); err != nil {
		w.Fatalf("%s: %v", when, err)
	}
	memory, err := w.state.Load(w.Context())
	if err != nil {
		w.Errorf("%s: %v", when, err)
	}
	for name, after := range crashAfter {
		switch sum := memory.Bases[key(w.T, name)].Sum; {
		case sum == api.SumString(after):
			if got := w.content(name); got != after {
				w.Errorf("%s: %s counts as agreed and holds %q", when, name, got)
			}
		case !sum.IsZero():
			w.Errorf("%s: %s has a base that nobody recorded", when, name)
		}
	}
	if memory.Version != 0 && memory.Version != crashView.Version {
		w.Errorf("%s: the journal is at version %d", when, memory.Version)
	}
	copies, err := w.state.Copies()
	if err != nil {
		w.Errorf("%s: %v", when, err)
	}
	for _, c := range copies {
		if _, _, err := w.state.ReadCopy(c.ID); err != nil {
			w.Errorf("%s: %v", when, err)
		}
	}
}

// checkRetired wants a file that counts as retired to be gone.
func (w *crashed) checkRetired(when string) {
	w.Helper()
	again, err := statedir.Open(w.state.Path())
	if err != nil {
		w.Fatal(err)
	}
	memory, err := again.Load(w.Context())
	if err != nil {
		w.Fatalf("%s: %v", when, err)
	}
	if memory.Bases[key(w.T, "retired.md")].Tomb != 0 && w.content("retired.md") != "" {
		w.Errorf("%s: a file counts as retired and is there", when)
	}
}

// checkLeftovers wants nothing of the dead process in the state directory, once
// what may be at work has had its hour.
func (w *crashed) checkLeftovers(when string) {
	w.Helper()
	if _, err := w.state.Prune(time.Now().Add(2 * time.Hour)); err != nil {
		w.Errorf("%s: %v", when, err)
	}
	err := filepath.WalkDir(w.state.Path(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		temporary := strings.HasSuffix(path, ".tmp") || filepath.Dir(path) == w.state.Staging()
		if temporary && !entry.IsDir() {
			w.Errorf("%s: left behind: %s", when, path)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := w.state.Close(); err != nil {
		w.Error(err)
	}
}

// checkTree wants each file old or new; absent only where it may be.
func (w *crashed) checkTree(when string, gaps bool) {
	w.Helper()
	for name := range crashAfter {
		got := w.content(name)
		if got != crashBefore[name] && got != crashAfter[name] && (!gaps || got != "") {
			w.Errorf("%s: %s holds %q", when, name, got)
		}
	}
	if got := w.content("retired.md"); got != "retired" && got != "" {
		w.Errorf("%s: retired.md holds %q", when, got)
	}
	entries, err := os.ReadDir(filepath.Join(w.base, "team"))
	if err != nil {
		w.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if crashBefore[name] == "" && crashAfter[name] == "" && name != "some" {
			w.Errorf("%s: stray %s in the tree", when, name)
		}
	}
}

// content returns a file of the tree, "" for none.
func (w *crashed) content(name string) string {
	w.Helper()
	content, err := os.ReadFile(filepath.Join(w.base, "team", filepath.FromSlash(name)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	return string(content)
}

func (w *crashed) isSaved(content string) bool {
	w.Helper()
	copies, err := w.state.Copies()
	if err != nil {
		w.Fatal(err)
	}
	return slices.ContainsFunc(copies, func(c statedir.Copy) bool { return c.Sum == api.SumString(content) })
}

// TestDurableOrder reads the order of the system calls, which no kill of a
// process can test: a power loss would.
func TestDurableOrder(t *testing.T) {
	requireStrace(t)
	w := crashWorld(t)
	trace := filepath.Join(w.base, "trace")
	cmd := exec.CommandContext(t.Context(), "strace", "-f", "-y", "-qq", "-o", trace,
		"-e", "trace=fsync,renameat,renameat2,unlinkat", os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = w.env("")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	index := func(what string, from int, parts ...string) int {
		t.Helper()
		for i := from; i < len(lines); i++ {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(lines[i], part) }) {
				return i
			}
		}
		t.Fatalf("no %s from line %d on:\n%s", what, from, text)
		return 0
	}
	const staging, team = "/state/staging>", "/team>"
	written := index("fsync of a temporary file", 0, "fsync(", "/staging/w-")
	named := index("renaming of it", written, "renameat(", "\"w-", "\"x-")
	prepared := index("fsync of the staging directory", named, "fsync(", staging)
	swapped := index("exchange", prepared, "renameat2(", "edited.md", "RENAME_EXCHANGE")
	saved := index("saved copy", swapped, "renameat(", "/saved/", ".json")
	kept := index("fsync of the saved copies", saved, "fsync(", "/state/saved>")
	placed := index("fsync of the tree", kept, "fsync(", team)
	if gone := index("removal of a displaced file", 0, "unlinkat(", "\"x-"); gone < placed {
		t.Errorf("a displaced file was removed in line %d, before all was durable in line %d:\n%s", gone, placed, text)
	}
	for i := range swapped {
		if strings.Contains(lines[i], "renameat2(") {
			if i < prepared {
				t.Errorf("line %d enters the tree before the staging directory is durable:\n%s", i, text)
			}
		}
	}
	// Each of the four contents and both copies, with their descriptions.
	if n := strings.Count(string(text), "/staging/w-"); n < 4 {
		t.Errorf("%d contents were synced, want 4:\n%s", n, text)
	}
}
