package tests

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
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
