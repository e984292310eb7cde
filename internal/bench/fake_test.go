package bench_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/bench"
	"github.com/teammem/teammemd/internal/control"
)

// fakes are programs that are measured in the place of teammemd. This binary is
// each of them, under its name.
var fakes = map[string]func(ctx context.Context, verb string) error{
	"mirror": mirror,
	"mute":   mute,
	"dies":   func(context.Context, string) error { return errors.New("the disk is on fire") },
}

func TestMain(m *testing.M) {
	fake, ok := fakes[filepath.Base(os.Args[0])]
	if !ok {
		os.Exit(m.Run())
	}
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := fake(ctx, strings.Join(os.Args[1:min(3, len(os.Args))], " "))
	if os.Getenv(canary) != "" {
		err = errors.New("the caller's environment is seen")
	}
	code := 0
	if err != nil {
		fmt.Fprintf(os.Stderr, "a word before\n%v\n", err)
		code = 1
	}
	syscall.Exit(code) // os.Exit takes a second under the race detector
}

// canary is a variable of the caller that no measured program may see.
const canary = "TEAMMEMD_BENCH_CANARY"

// mute starts and says nothing; it leaves its process id where it runs.
func mute(ctx context.Context, _ string) error {
	if err := os.WriteFile("pid.tmp", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if err := os.Rename("pid.tmp", "pid"); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// mirror makes ben's files equal to ada's, and keeps no copy of what ben wrote.
func mirror(ctx context.Context, verb string) error {
	switch verb {
	case "server --listen":
		fmt.Fprintln(os.Stdout, "listening http://127.0.0.1:1")
		<-ctx.Done()
	case "server token":
		fmt.Fprintln(os.Stdout, "a word before\na token")
	case "conflicts list":
		fmt.Fprintln(os.Stdout, `{"schema":1,"conflicts":[]}`)
	case "daemon":
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for os.Getenv("USER") == "ada" && ctx.Err() == nil {
			if err := copyNotes(filepath.Join("..", "ada", "team"), filepath.Join("..", "ben", "team")); err != nil {
				return err
			}
			<-tick.C
		}
		<-ctx.Done()
	}
	return nil
}

func copyNotes(from, to string) error {
	notes, err := filepath.Glob(filepath.Join(from, "note-*"))
	if err != nil {
		return err
	}
	for _, note := range notes {
		text, err := os.ReadFile(note)
		if err != nil {
			return err
		}
		if err := replace(filepath.Join(to, filepath.Base(note)), string(text)); err != nil {
			return err
		}
	}
	return nil
}

// replace puts a text in place at once, under a hidden name before.
func replace(name, text string) error {
	if got, err := os.ReadFile(name); err == nil && string(got) == text {
		return nil
	}
	hidden := filepath.Join(filepath.Dir(name), "."+filepath.Base(name))
	if err := os.WriteFile(hidden, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(hidden, name)
}

// client is mirror's, which is content when ben has ada's notes; and a server
// that hands ben what is pushed.
type client struct{ getenv func(string) string }

func (c client) Status(context.Context) (control.Status, error) {
	home := c.getenv("HOME")
	ada, err := filepath.Glob(filepath.Join(home, "..", "ada", "team", "note-*"))
	state := "in-sync"
	for _, note := range ada {
		theirs, errA := os.ReadFile(note)
		ours, errB := os.ReadFile(filepath.Join(home, "..", "ben", "team", filepath.Base(note)))
		if errA != nil || errB != nil || string(theirs) != string(ours) {
			state = "syncing"
		}
	}
	return control.Status{Roots: []control.RootStatus{{RootReport: control.RootReport{State: state, Version: 1}}}}, err
}

func (c client) Server() (bench.Pusher, error) { return c, nil }

func (c client) Push(_ context.Context, batch api.Batch) (api.Pushed, error) {
	for _, e := range batch.Entries {
		if err := replace(filepath.Join(c.getenv("HOME"), "..", "ben", "team", e.Key.String()), e.Content); err != nil {
			return api.Pushed{}, err
		}
	}
	return api.Pushed{}, nil
}

// told is what a test hears of a measurement.
type told struct {
	options bench.Options
	lines   []string          // of progress
	seen    map[string]string // of the environment of ben's machine
}

// options measure a fake in a directory of the test's own.
func options(t *testing.T, fake string) *told {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), fake)
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	told := &told{seen: make(map[string]string)}
	told.options = bench.Options{
		Program: program, TempDir: t.TempDir(), Debounce: 1500 * time.Microsecond,
		Client: func(getenv func(string) string) (bench.Client, error) {
			for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "TMPDIR", canary} {
				told.seen[name] = getenv(name)
			}
			return client{getenv}, nil
		},
		Progress: func(line string) { told.lines = append(told.lines, line) },
	}
	return told
}

// apart sees that the measured machines had directories of their own alone.
func (told *told) apart(t *testing.T) {
	t.Helper()
	seen := maps.Clone(told.seen)
	if seen[canary] != "" {
		t.Errorf("%s=%q, want the caller's environment unseen", canary, seen[canary])
	}
	delete(seen, canary)
	for name, dir := range seen {
		if rel, err := filepath.Rel(told.options.TempDir, dir); err != nil || !filepath.IsLocal(rel) || rel == "." {
			t.Errorf("%s=%q, want it below %q", name, dir, told.options.TempDir)
		}
	}
}

// leftNothing sees that a measurement removed what it made.
func (told *told) leftNothing(t *testing.T) {
	t.Helper()
	if left, err := os.ReadDir(told.options.TempDir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
