package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/control"
)

// daemon answers what the test put in.
type daemon struct {
	status control.Status
	report control.RootReport
	err    error
	calls  chan string
}

func newDaemon() *daemon { return &daemon{calls: make(chan string, 100)} }

func (d *daemon) Status(context.Context) (control.Status, error) {
	d.calls <- "status"
	return d.status, d.err
}

func (d *daemon) Sync(_ context.Context, req control.SyncRequest) (control.RootReport, error) {
	d.calls <- fmt.Sprintf("sync %s %s %v", req.Root, req.Mode, req.DryRun)
	return d.report, d.err
}

func (d *daemon) Reload(context.Context) error {
	d.calls <- "reload"
	return d.err
}

func (d *daemon) Stop(context.Context) error {
	d.calls <- "stop"
	return d.err
}

// start runs a server at path until the test, or the returned function, ends it.
func start(t *testing.T, d *daemon, path, note string) (stop func()) {
	t.Helper()
	lease, err := control.Lock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	s := control.NewServer(control.Options{Handler: d, Note: note, CheckEvery: 10 * time.Millisecond})
	if err := s.Listen(lease, path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the server ended with %v", err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func dial(t *testing.T, path string, notes ...string) *control.Client {
	t.Helper()
	c, err := control.Dial(t.Context(), path, notes...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func someRepo(t *testing.T) api.Repo {
	t.Helper()
	repo, err := api.ParseRepo("acme/api")
	if err != nil {
		t.Fatal(err)
	}
	return repo
}

func TestCallsReachTheDaemon(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	d := newDaemon()
	d.report = control.RootReport{
		Schema: control.Schema, Repo: someRepo(t), Root: "/team", State: "in-sync", Sent: 1, Received: 2, Unchanged: 3, Restored: 4, Pending: 5,
		Held:      control.List[control.Held]{{Key: "a.md", Line: 1, Column: 2, Rule: "r", Tier: "t", Reason: "secret", Fix: "f"}},
		Conflicts: control.List[control.Conflict]{{ID: "c1", Key: "b.md", SavedAt: at}},
		Version:   6, Epoch: "e", DurationMS: 7,
	}
	d.status = control.Status{
		Schema: control.Schema, State: "in-sync", Identity: "ada", Server: "http://a",
		Roots:   control.List[control.RootStatus]{{RootReport: d.report, LastPush: at, Watch: "events"}},
		Allowed: control.List[control.Allowance]{{ID: "1", Repo: someRepo(t), Key: "a.md", Line: 3, Rule: "r", Tier: "block3", Reason: "example", At: at, ExpiresAt: at}},
	}
	path := filepath.Join(t.TempDir(), "run", "c.sock")
	start(t, d, path, "")
	c := dial(t, path)

	same := cmpopts.EquateComparable(api.Repo{})
	status, err := c.Status(t.Context())
	if diff := cmp.Diff(d.status, status, same); diff != "" || err != nil {
		t.Errorf("status: %v (-want +got):\n%s", err, diff)
	}
	report, err := c.Sync(t.Context(), control.SyncRequest{Root: "r1", Mode: control.Pull, DryRun: true})
	if diff := cmp.Diff(d.report, report, same); diff != "" || err != nil {
		t.Errorf("sync: %v (-want +got):\n%s", err, diff)
	}
	if err := errors.Join(c.Reload(t.Context()), c.Stop(t.Context())); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"status", "sync r1 pull true", "reload", "stop"} {
		if got := <-d.calls; got != want {
			t.Errorf("got call %q, want %q", got, want)
		}
	}
}

// TestReportFields pins the names that scripts rely on.
func TestReportFields(t *testing.T) {
	text, err := json.Marshal(control.Status{Roots: control.List[control.RootStatus]{{RootReport: control.RootReport{Repo: someRepo(t)}}}})
	if err != nil {
		t.Fatal(err)
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	root := whole["roots"].([]any)[0].(map[string]any)
	for name, want := range map[string][]string{
		"status": {"allowed", "identity", "roots", "schema", "server", "state"},
		"root": {
			"conflicts", "duration_ms", "epoch", "held", "pending", "received", "repo", "restored", "root", "schema", "sent", "server",
			"state", "total", "unchanged", "version", "watch",
		},
	} {
		object := map[string]map[string]any{"status": whole, "root": root}[name]
		var got []string
		for field, value := range object {
			got = append(got, field)
			if value == nil {
				t.Errorf("%s.%s is null", name, field)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var tags []string
	for field := range reflect.TypeFor[control.Held]().Fields() {
		tags = append(tags, field.Tag.Get("json"))
	}
	if diff := cmp.Diff([]string{"key", "line", "column", "rule", "tier", "reason", "detail,omitempty", "more,omitempty", "fix"}, tags); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	text, err = json.Marshal(control.RootStatus{LastPush: time.Unix(1, 0).UTC(), LastPull: time.Unix(2, 0).UTC(), NextRetry: time.Unix(3, 0).UTC()})
	if err != nil || !strings.Contains(string(text), `"last_push":"1970-01-01T00:00:01Z","last_pull":"1970-01-01T00:00:02Z","next_retry":"1970`) {
		t.Errorf("times: %s, %v", text, err)
	}
}

// hinted is an error with a way out.
type hinted struct{ error }

func (hinted) Hint() string    { return "do this" }
func (h hinted) Unwrap() error { return h.error }

func TestErrorsKeepTheirSentinel(t *testing.T) {
	d := newDaemon()
	path := filepath.Join(t.TempDir(), "c.sock")
	start(t, d, path, "")
	c := dial(t, path)
	for _, row := range api.Errors {
		d.err = fmt.Errorf("doing the work: %w", row.Err)
		_, err := c.Status(t.Context())
		if !errors.Is(err, row.Err) || err.Error() != d.err.Error() || api.ExitCode(err) != api.ExitCode(d.err) {
			t.Errorf("%v arrived as %v", d.err, err)
		}
	}
	d.err = errors.New("something else")
	if _, err := c.Sync(t.Context(), control.SyncRequest{}); !errors.Is(err, api.ErrInternal) || err.Error() != "something else" {
		t.Errorf("got %v", err)
	}
	d.err = hinted{api.ErrUsage}
	var got interface{ Hint() string }
	if err := c.Reload(t.Context()); !errors.As(err, &got) || got.Hint() != "do this" || !errors.Is(err, api.ErrUsage) {
		t.Errorf("got %v", err)
	}
}

func TestNobodyListens(t *testing.T) {
	dir := t.TempDir()
	if _, err := control.Dial(t.Context(), filepath.Join(dir, "absent", "c.sock")); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("no directory: %v", err)
	}
	path := filepath.Join(dir, "c.sock")
	if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("no socket: %v", err)
	}
	stop := start(t, newDaemon(), path, "")
	c := dial(t, path)
	stop()
	if _, err := c.Status(t.Context()); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("a daemon that ended: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := control.Dial(canceled, path); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func TestSocketIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SKIP: no modes here")
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "c.sock")
	start(t, newDaemon(), path, "")
	for name, want := range map[string]os.FileMode{dir: 0o700, path: 0o600} {
		if st, err := os.Lstat(name); err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", name, st.Mode(), err)
		}
	}
}

func TestNoteLeadsToTheSocket(t *testing.T) {
	dir := t.TempDir()
	path, note := filepath.Join(dir, "c.sock"), filepath.Join(dir, "note")
	stop := start(t, newDaemon(), path, note)
	c := dial(t, filepath.Join(dir, "elsewhere", "c.sock"), filepath.Join(dir, "no-note"), note)
	if _, err := c.Status(t.Context()); err != nil || c.Socket() != path {
		t.Errorf("through the note: %s, %v", c.Socket(), err)
	}
	stop()
	if _, err := os.Stat(note); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note is left behind: %v", err)
	}
}

func TestLongPaths(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("long", 20), strings.Repeat("path", 20), "control.sock")
	d := newDaemon()
	stop := start(t, d, path, "")
	if _, err := dial(t, path).Status(t.Context()); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "linux" {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("the socket is not where it was wanted: %v", err)
		}
	}
	stop()
	if _, err := control.Dial(t.Context(), path); !errors.Is(err, control.ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, newDaemon(), path, "")
	if _, err := dial(t, path).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestListenWantsTheLock(t *testing.T) {
	lease, err := control.Lock(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "c.sock")
	s := control.NewServer(control.Options{Handler: newDaemon()})
	if err := errors.Join(s.Listen(lease, path), s.Listen(nil, path)); err == nil || strings.Count(err.Error(), "not held") != 2 {
		t.Errorf("got %v", err)
	}
	if err := s.Run(t.Context()); err == nil {
		t.Error("a server that does not listen runs")
	}
}

// until tries again until the deadline.
func until(t *testing.T, what string, try func() error) {
	t.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

func TestF19SocketComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	path, note := filepath.Join(dir, "c.sock"), filepath.Join(t.TempDir(), "note")
	start(t, newDaemon(), path, note)
	for name, spoil := range map[string]func() error{
		"socket removed":    func() error { return os.Remove(path) },
		"directory emptied": func() error { return os.RemoveAll(dir) },
		"another file": func() error {
			return errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600))
		},
	} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		until(t, name, func() error {
			c, err := control.Dial(t.Context(), path)
			if err != nil {
				return err
			}
			_, err = c.Status(t.Context())
			return err
		})
		if after, err := os.Lstat(path); err != nil || os.SameFile(before, after) && before.ModTime().Equal(after.ModTime()) {
			t.Errorf("%s: not made anew: %v", name, err)
		}
	}
}
