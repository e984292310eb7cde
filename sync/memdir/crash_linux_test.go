package memdir_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
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
	for _, placed := range tree.Place(t.Context(), placements) {
		t.Log(placed)
	}
	t.Log(tree.Retire(t.Context(), key(t, "retired.md"), []api.Checksum{api.SumString("retired")}))
	t.Log(tree.Recover(t.Context())) // what lingers goes now
}

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

// crashCalls are the system calls at which a run is interrupted.
var crashCalls = []string{
	"openat", "write", "pread64", "fchmod", "utimensat", "fsync", "renameat", "renameat2", "linkat", "mkdirat", "unlinkat", "newfstatat", "fcntl",
}

// TestKilledAnywhere kills the process at many of its system calls. Each file is
// then wholly old or wholly new, and recovery leaves nothing behind and loses
// nothing.
func TestKilledAnywhere(t *testing.T) {
	requireStrace(t)
	kills := 0
	for _, without := range []string{"", "yes"} {
		for _, call := range crashCalls {
			t.Run(fmt.Sprintf("%s without exchange %q", call, without), func(t *testing.T) {
				for _, n := range crashPoints() {
					w := crashWorld(t)
					if !w.run(without, fmt.Sprintf("inject=%s:signal=SIGKILL:when=%d", call, n)) {
						break // it got to its end
					}
					kills++
					w.check(fmt.Sprintf("killed at %s %d", call, n), without)
				}
			})
		}
	}
	if kills < 2*len(crashCalls) {
		t.Errorf("only %d runs were killed", kills)
	}
	t.Logf("%d runs were killed", kills)
}

// TestFailingCalls makes system calls fail, as a full or broken disk does. The
// program goes on: whatever failed, nothing is torn, left over or lost.
func TestFailingCalls(t *testing.T) {
	requireStrace(t)
	for _, fault := range []string{
		"write:error=ENOSPC", "write:error=EIO", "fsync:error=EIO", "fsync:error=ENOSPC", "renameat:error=ENOSPC",
		"renameat2:error=ENOSPC", "mkdirat:error=ENOSPC", "utimensat:error=EIO", "unlinkat:error=EIO", "fchmod:error=EROFS",
	} {
		t.Run(fault, func(t *testing.T) {
			for _, n := range crashPoints() {
				w := crashWorld(t)
				w.run("", fmt.Sprintf("inject=%s:when=%d", fault, n))
				w.check(fmt.Sprintf("%s at %d", fault, n), "")
			}
		})
	}
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

// run runs the scenario with a fault, and reports whether it was killed.
func (w *crashed) run(without, inject string) bool {
	w.Helper()
	call, _, _ := strings.Cut(strings.TrimPrefix(inject, "inject="), ":")
	cmd := exec.CommandContext(w.Context(), "strace", "-f", "-qq", "-o", os.DevNull,
		"-e", "trace="+call, "-e", inject, os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashBase+"="+w.base, crashWithout+"="+without, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
	err := cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if err != nil && !ok {
		w.Fatal(err)
	}
	return ok && !exit.Exited()
}

// check looks at what an interrupted run left, recovers, and looks again.
func (w *crashed) check(when, without string) {
	w.Helper()
	w.checkTree(when, without != "")
	if err := crashTree(w.T, w.base, w.state).Recover(w.Context()); err != nil {
		w.Errorf("%s: %v", when, err)
	}
	w.checkTree(when+", recovered", false)
	entries, err := os.ReadDir(w.state.Staging())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.Fatal(err)
	}
	for _, entry := range entries {
		w.Errorf("%s: left in staging: %s", when, entry.Name())
	}
	for name, unknown := range map[string]string{"edited.md": "edited here", "retired.md": "retired"} {
		if w.content(name) != unknown && !w.isSaved(unknown) {
			w.Errorf("%s: %q is lost", when, unknown)
		}
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
	cmd.Env = append(os.Environ(), crashBase+"="+w.base, "GOMAXPROCS=1", "GORACE=atexit_sleep_ms=0")
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
