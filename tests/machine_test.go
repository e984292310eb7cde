package tests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	bugs "github.com/teammem/teammemd/internal/planted"
)

// commandLimit bounds one command of the program that is to end by itself.
const commandLimit = 2 * time.Minute

// binary is the program under test: the built one, or the one that
// TEAMMEMD_TEST_BINARY names.
func binary(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("TEAMMEMD_TEST_BINARY"); named != "" {
		return named
	}
	return program(t)
}

// machine is one person's computer: a home and XDG directories of its own, and
// an environment with nothing else in it. Its commands may run concurrently.
type machine struct {
	t     *testing.T
	bin   string
	home  string
	team  string // the team directory that enroll registers
	extra []string

	mu    sync.Mutex
	said  bytes.Buffer // all that its commands printed; guarded by mu
	files []string     // outputs of its processes; guarded by mu
}

func newMachine(t *testing.T, name string) *machine {
	t.Helper()
	home := filepath.Join(t.TempDir(), name)
	m := &machine{t: t, bin: binary(t), home: home, team: filepath.Join(home, "team")}
	for _, dir := range []string{home, m.work(), m.xdg("run")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// newFastMachine is a machine that waits a tenth of a second where the default
// is two, for tests that are not about the wait.
func newFastMachine(t *testing.T, name string) *machine {
	t.Helper()
	m := newMachine(t, name)
	m.config("debounce = \"100ms\"\n")
	return m
}

// xdg is one of the machine's base directories: config, state, data or run.
func (m *machine) xdg(kind string) string { return filepath.Join(m.home, "xdg", kind) }

// state is the program's state directory.
func (m *machine) state() string { return filepath.Join(m.xdg("state"), "teammemd") }

// work is where commands run: a directory that belongs to no root.
func (m *machine) work() string { return filepath.Join(m.home, "work") }

func (m *machine) env() []string {
	return slices.Concat([]string{
		"HOME=" + m.home, "USER=" + filepath.Base(m.home), "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"),
		"TMPDIR=" + os.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"XDG_CONFIG_HOME=" + m.xdg("config"), "XDG_STATE_HOME=" + m.xdg("state"),
		"XDG_DATA_HOME=" + m.xdg("data"), "XDG_RUNTIME_DIR=" + m.xdg("run"),
		bugs.Variable + "=" + os.Getenv(bugs.Variable), // heard by a binary that tests/teeth built
	}, m.extra)
}

// config writes the client's configuration.
func (m *machine) config(text string) {
	m.t.Helper()
	put(m.t, filepath.Join(m.xdg("config"), "teammemd", "config.toml"), text)
}

// outcome is how a command ended and what it said.
type outcome struct {
	args           []string
	stdout, stderr string
	code           int
	took           time.Duration
}

// traces are what a program prints that lost control of itself.
var traces = regexp.MustCompile(`(?m)^(panic: |fatal error: |SIG[A-Z]+: |goroutine \d+ .*\[)`)

// run runs the program in the machine's work directory until it ends.
func (m *machine) run(args ...string) outcome {
	m.t.Helper()
	return m.runIn(m.work(), args...)
}

func (m *machine) runIn(dir string, args ...string) outcome {
	m.t.Helper()
	return m.runCommand(exec.Command(m.bin, args...), dir)
}

// runCommand runs a prepared command as if it were the program.
func (m *machine) runCommand(cmd *exec.Cmd, dir string) outcome {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env = dir, m.env()
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	cmd.Stderr = &stderr
	cmd.WaitDelay = 5 * time.Second
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		m.t.Fatalf("starting %q: %v", cmd.Args, err)
	}
	limit := time.AfterFunc(commandLimit, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	if !limit.Stop() {
		m.t.Errorf("%q: not done after %s", cmd.Args, commandLimit)
	}
	o := outcome{args: cmd.Args[1:], stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(begun)}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		m.t.Fatalf("running %q: %v", cmd.Args, err)
	}
	m.remember(o.stdout, o.stderr)
	if traces.MatchString(o.stderr) || traces.MatchString(o.stdout) {
		m.t.Errorf("%q lost control of itself:\n%s%s", cmd.Args, o.stdout, o.stderr)
	}
	return o
}

func (m *machine) remember(texts ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, text := range texts {
		m.said.WriteString(text)
	}
}

// spoken is all that the machine's commands and processes have printed.
func (m *machine) spoken() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := slices.Clone(m.said.Bytes())
	for _, name := range m.files {
		text, err := os.ReadFile(name)
		if err != nil {
			m.t.Errorf("reading an output: %v", err)
		}
		all = append(all, text...)
	}
	return all
}

// want runs the program and fails the test where it ends with another code.
func (m *machine) want(code int, args ...string) outcome {
	m.t.Helper()
	o := m.run(args...)
	if o.code != code {
		m.t.Fatalf("%q on %s: exit code %d, want %d\n%s%s", args, filepath.Base(m.home), o.code, code, o.stdout, o.stderr)
	}
	return o
}

// ok is want with exit code 0.
func (m *machine) ok(args ...string) outcome {
	m.t.Helper()
	return m.want(0, args...)
}

// enroll registers the machine's team directory for a repo of the server, and
// returns the directory.
func (m *machine) enroll(url, token, repo string) string {
	m.t.Helper()
	file := filepath.Join(m.home, "token")
	put(m.t, file, token+"\n")
	m.ok("init", "--server", url, "--token-file", file, "--repo", repo, "--team-dir", m.team, "--yes")
	return m.team
}

// checkout makes a git checkout below the home, with a remote unless it is "".
func (m *machine) checkout(name, remote string) string {
	m.t.Helper()
	dir := filepath.Join(m.home, "src", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		m.t.Fatal(err)
	}
	m.git(dir, "init", "-q")
	if remote != "" {
		m.git(dir, "remote", "add", "origin", remote)
	}
	return dir
}

func (m *machine) git(dir string, args ...string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), commandLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = dir, m.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// write puts a file into the team directory, and returns its path.
func (m *machine) write(key, text string) string {
	m.t.Helper()
	name := filepath.Join(m.team, filepath.FromSlash(key))
	put(m.t, name, text)
	return name
}

// read returns a file of the team directory, and false where there is none.
func (m *machine) read(key string) (string, bool) {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.team, filepath.FromSlash(key)))
	if errors.Is(err, os.ErrNotExist) {
		return "", false
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text), true
}

// awaitFile waits until a file of the team directory is text; absent with "".
func (m *machine) awaitFile(key, text string) {
	m.t.Helper()
	await(m.t, time.Minute, fmt.Sprintf("%s of %s to be %q", key, filepath.Base(m.home), text), func() bool {
		got, there := m.read(key)
		return there == (text != "") && got == text
	})
}
