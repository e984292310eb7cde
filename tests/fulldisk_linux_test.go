package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/internal/nstest"
)

// TestF12FullStateDirectory lets the disk of the state directory run full in the
// middle of work: one line says so, nothing is lost, and it goes on by itself
// when there is room.
func TestF12FullStateDirectory(t *testing.T) {
	t.Parallel()
	if out, err := namespaced("mount -t tmpfs none /mnt").CombinedOutput(); err != nil {
		t.Skipf("SKIP: no private mounts here: %v %s", err, out)
	}
	p := newPair(t)
	a := p.a
	big := sized(30_000)
	texts := tree{"one.md": "one\n", "two.md": "two\n", "big.md": big}
	for key, text := range texts {
		p.b.write(key, text)
	}
	p.b.sync(0)
	// Everything happens in one shell, since its mounts end with it. Each step
	// leaves its exit code and both streams in a directory of its own.
	steps := filepath.Join(a.home, "steps")
	theirs := p.b.home
	script := `
step() { name=$1; shift; mkdir -p "$STEPS/$name"; code=0; "$@" >"$STEPS/$name/out" 2>"$STEPS/$name/err" || code=$?; echo $code >"$STEPS/$name/code"; }
other() { env HOME="$OTHER" XDG_CONFIG_HOME="$OTHER/xdg/config" XDG_STATE_HOME="$OTHER/xdg/state" XDG_DATA_HOME="$OTHER/xdg/data" XDG_RUNTIME_DIR="$OTHER/xdg/run" "$BIN" "$@"; }
fill() { dd if=/dev/zero of="$STATE/filler" bs=1k 2>/dev/null || true; dd if=/dev/zero of="$STATE/filler2" bs=1 2>/dev/null || true; }
mkdir -p "$STATE"
mount -t tmpfs -o size=256k none "$STATE"
step first "$BIN" sync --json
echo "edited here" >"$TEAM/one.md"
echo "mine" >"$TEAM/two.md"
printf 'theirs\n' >"$OTHER/team/two.md"
step other other sync --json
fill
step full "$BIN" sync
step fulljson "$BIN" sync --json
step status "$BIN" status --json
cp -r "$TEAM" "$STEPS/team-when-full"
rm -f "$STATE/filler" "$STATE/filler2"
step after "$BIN" sync --json
step list "$BIN" conflicts list --json
id=$(sed 's/.*"id":"\([^"]*\)".*/\1/' "$STEPS/list/out")
step show "$BIN" conflicts show "$id"
step again "$BIN" sync --json
ls -A "$STATE" >"$STEPS/left"
`
	a.extra = []string{"STEPS=" + steps, "BIN=" + a.bin, "STATE=" + a.state(), "TEAM=" + a.team, "OTHER=" + theirs}
	if o := a.runCommand(namespaced(script), a.work()); o.code != 0 {
		t.Fatalf("the script: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	step := func(name string) outcome {
		t.Helper()
		o := outcome{args: []string{name}, stdout: textOf(t, filepath.Join(steps, name, "out")), stderr: textOf(t, filepath.Join(steps, name, "err"))}
		if _, err := fmt.Sscan(textOf(t, filepath.Join(steps, name, "code")), &o.code); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if traces.MatchString(o.stderr) {
			t.Errorf("%s lost control of itself:\n%s", name, o.stderr)
		}
		return o
	}
	for _, name := range []string{"first", "other"} {
		if o := step(name); o.code != 0 {
			t.Fatalf("%s: exit code %d\n%s%s", name, o.code, o.stdout, o.stderr)
		}
	}
	full := step("full")
	complains(t, full, 1, "no space left")
	if o := step("fulljson"); o.code != 1 || !strings.Contains(o.stdout, `"schema":1`) {
		t.Errorf("with --json: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	if o := step("status"); o.code != 0 {
		t.Errorf("status: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	whenFull := treeOf(t, filepath.Join(steps, "team-when-full"))
	if whenFull["one.md"] != "edited here\n" || whenFull["two.md"] != "mine\n" || whenFull["big.md"] != big || len(whenFull) != 3 {
		t.Errorf("the files while the disk was full: %q", keysOf(whenFull))
	}
	after := step("after")
	if after.code != 3 && after.code != 0 {
		t.Errorf("afterwards: exit code %d\n%s%s", after.code, after.stdout, after.stderr)
	}
	if o := step("show"); o.stdout != "mine\n" {
		t.Errorf("the displaced text among the saved copies: %q %s", o.stdout, step("list").stdout)
	}
	if o := step("again"); o.code != 0 {
		t.Errorf("once it was read: exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	want := tree{"one.md": "edited here\n", "two.md": "theirs\n", "big.md": big}
	sameTree(t, "the files afterwards", want, treeOf(t, a.team))
	p.b.sync(0)
	sameTree(t, "the other machine", want, treeOf(t, p.b.team))
}

// cage runs a daemon where the directory of its team and its state are small file
// systems of its own. The files in them are reached through /proc.
type cage struct {
	*process
	root        string // of the files as the daemon sees them
	team, state string
}

func (m *machine) caged(size string) *cage {
	m.t.Helper()
	var setup strings.Builder
	for _, dir := range []string{filepath.Dir(m.team), m.state()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			m.t.Fatal(err)
		}
		fmt.Fprintf(&setup, "mount -t tmpfs -o size=%s none '%s'\n", size, dir)
	}
	p := m.daemonWithin(setup.String() + "mkdir '" + m.team + "'")
	root := fmt.Sprintf("/proc/%d/root", p.cmd.Process.Pid)
	return &cage{process: p, root: root, team: root + m.team, state: root + m.state()}
}

// TestF12FullDisks lets first the disk of the team directory and then that of the
// state run full under a daemon: the old texts stay, nothing is left over, status
// says why, and it goes on by itself when there is room.
func TestF12FullDisks(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a := newFastMachine(t, "caged")
	a.team = filepath.Join(a.home, "mem", "team")
	a.enroll(p.server.url, p.server.token("caged", team, "writer"), team)
	p.b.write("old.md", "old\n")
	p.b.write("both.md", "both\n")
	p.b.sync(0)
	c := a.caged("256k")
	has := func(key, text string) func() bool {
		return func() bool {
			got, err := os.ReadFile(filepath.Join(c.team, key))
			return err == nil && string(got) == text
		}
	}
	await(t, time.Minute, "the first files", has("both.md", "both\n"))

	free := nstest.Fill(t, c.team)
	large := sized(20_000)
	p.b.write("old.md", large)
	p.b.write("new.md", large)
	p.b.sync(0)
	await(t, 30*time.Second, "status to say that the disk is full", func() bool { return strings.Contains(a.status().Error, "no space left") })
	if r := a.status(); r.State != "halted" || r.Pending != 2 {
		t.Errorf("with a full disk: %s with %d pending, want halted with 2", r.State, r.Pending)
	}
	sameTree(t, "the files on a full disk", tree{"old.md": "old\n", "both.md": "both\n"}, treeOf(t, c.team).without("filler"))
	put(t, filepath.Join(c.state, "probe"), "the other disk has room\n")
	if left := leftIn(t, c); len(left) > 0 {
		t.Errorf("left over on a full disk: %q", left)
	}
	free()
	await(t, time.Minute, "the daemon to go on by itself", func() bool { return has("old.md", large)() && has("new.md", large)() })

	// The state's disk: a conflict needs room for the copy of what it displaces.
	c.signal(syscall.SIGSTOP) // both are edited before it sees either
	free = nstest.Fill(t, c.state)
	p.b.write("both.md", "theirs\n")
	p.b.sync(0)
	put(t, filepath.Join(c.team, "both.md"), "mine "+large)
	c.signal(syscall.SIGCONT)
	await(t, 30*time.Second, "status to say that the disk is full", func() bool { return strings.Contains(a.status().Error, "no space left") })
	for range 3 {
		a.run("sync")
		if !has("both.md", "mine "+large)() {
			t.Fatal("a text was displaced that could not be saved")
		}
	}
	free()
	await(t, time.Minute, "the conflict to be settled by itself", has("both.md", "theirs\n"))
	await(t, time.Minute, "status to be in-sync", func() bool { r := a.status(); return r.State == "in-sync" && len(r.Conflicts) == 1 })
	saved := false
	for _, text := range treeOf(t, filepath.Join(c.state, "roots")) {
		saved = saved || text == "mine "+large
	}
	if !saved {
		t.Error("the displaced text is in no saved copy")
	}
	if left := leftIn(t, c); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

// leftIn lists temporary files in a cage.
func leftIn(t *testing.T, c *cage) []string {
	t.Helper()
	var left []string
	for name := range treeOf(t, filepath.Dir(c.team)) {
		if !strings.HasPrefix(name, "team/") || strings.HasPrefix(filepath.Base(name), ".") {
			left = append(left, name)
		}
	}
	for name := range treeOf(t, c.state) {
		if strings.Contains(name, "/staging/") || strings.HasSuffix(name, ".tmp") {
			left = append(left, name)
		}
	}
	return left
}
