package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/server/auth"
)

// startWithin bounds how long a detached daemon may take to answer.
const startWithin = 15 * time.Second

// upBeside registers the checkout with the daemon that runs already, and with
// the embedded server of this machine.
func (a *app) upBeside(ctx context.Context, m machine, o upOptions) error {
	begun := time.Now()
	before := a.movedBefore(ctx, m)
	url := m.embeddedURL()
	// The URL outlives the server, and the daemon that runs now may have none.
	if url == "" || checkHealth(ctx, url+api.PathReady) != nil {
		return withHint(fmt.Errorf("%w: a daemon runs on this machine, without an embedded server", api.ErrAlreadyRunning),
			"register this checkout with your server: 'teammemd init --server URL'; or stop the daemon first")
	}
	backend, err := openBeside(ctx, config.Server{Data: m.paths.DataDir})
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }() // nothing is pending: each change was durable when it returned
	tokens := auth.New(backend, auth.Options{Audit: auditAsAdmin(backend)})
	root, err := a.upRoot(ctx, m, o, url, tokens)
	if err != nil {
		return err
	}
	if err := a.tellDaemon(ctx, m); err != nil {
		return err
	}
	return a.firstThroughDaemon(ctx, m, o, root, tokens, before[root.Dir], begun)
}

// firstThroughDaemon runs the first cycle through the daemon and speaks for it.
func (a *app) firstThroughDaemon(ctx context.Context, m machine, o upOptions, root config.Root, tokens *auth.Auth, before control.Moved, begun time.Time) error {
	daemon, err := m.daemon(ctx)
	if err != nil {
		return err
	}
	line := a.progressOf(ctx, root)
	watching, enough := context.WithCancel(ctx)
	line.follow(watching, daemon, root)
	report, err := daemon.Sync(ctx, control.SyncRequest{Root: root.ID})
	enough()
	line.end()
	if err != nil {
		return err
	}
	report = movedSince(report, before)
	report.DurationMS = time.Since(begun).Milliseconds()
	a.worse(exitOf(report))
	return a.transcript(ctx, m, root, report, tokens, scanner.New(scanner.Options{}), o.source())
}

// movedBefore returns what the running daemon has moved so far, by team
// directory.
func (a *app) movedBefore(ctx context.Context, m machine) map[string]control.Moved {
	before := make(map[string]control.Moved)
	daemon, err := m.daemon(ctx)
	if err != nil {
		return before
	}
	status, err := daemon.Status(ctx)
	if err != nil {
		return before
	}
	for _, root := range status.Roots {
		before[root.Root] = root.Total
	}
	return before
}

// upDetached starts server and daemon as a process of their own and returns
// after the first cycle.
func (a *app) upDetached(ctx context.Context, m machine, o upOptions) error {
	begun := time.Now()
	quiet := *a
	quiet.quiet = true // it was said by the first resolve
	wanted, err := quiet.resolve(m, o.registration)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program itself: %w", err)
	}
	if err := os.MkdirAll(m.paths.StateDir, 0o700); err != nil {
		return fmt.Errorf("making the state directory: %w", err)
	}
	if err := a.startDetached(ctx, m, program, wanted.Dir, o); err != nil {
		if errors.Is(err, api.ErrAlreadyRunning) && m.embeddedURL() != "" {
			return a.upBeside(ctx, m, o) // another start was quicker
		}
		return err
	}
	roots, err := m.roots()
	if err != nil {
		return err
	}
	root, ok := rootFor(roots, wanted.Dir)
	if !ok {
		return fmt.Errorf("the daemon did not register %s; see 'teammemd logs'", wanted.Dir)
	}
	backend, err := openBeside(ctx, config.Server{Data: m.paths.DataDir})
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	return a.firstThroughDaemon(ctx, m, o, root, auth.New(backend, auth.Options{Audit: auditAsAdmin(backend)}), control.Moved{}, begun)
}

// startDetached starts the process that stays and waits until it answers for the
// team directory dir. Its log is its own until then, so that starts at the same
// moment do not read each other's last words; then it becomes the daemon's log.
func (a *app) startDetached(ctx context.Context, m machine, program, dir string, o upOptions) error {
	log, err := startLog(m.paths.StateDir)
	if err != nil {
		return fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = log.Close() }() // the child has its own descriptor
	child := exec.CommandContext(context.WithoutCancel(ctx), program, o.childArgs()...)
	child.Stdout, child.Stderr = log, log
	separate(child)
	if err := child.Start(); err != nil {
		return fmt.Errorf("starting the daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	if err := a.awaitDaemon(ctx, m, dir, ended, log.Name()); err != nil {
		if _, told := errors.AsType[*relayed](err); told {
			_ = os.Remove(log.Name()) // its last words are in err
		}
		return err
	}
	m.adoptLog(log.Name())
	return nil
}

// childArgs repeats what was asked for, for the process that stays.
func (o upOptions) childArgs() []string {
	args := []string{"up", "--silent-child", "--listen", o.listen}
	if o.repo != "" {
		args = append(args, "--repo", o.repo)
	}
	if o.teamDir != "" {
		args = append(args, "--team-dir", o.teamDir)
	}
	return append(args, "--", o.path)
}

// awaitDaemon waits until the child answers for the team directory dir. A child
// that ended says why in its log: its last line is passed on, with its code.
func (a *app) awaitDaemon(ctx context.Context, m machine, dir string, ended <-chan error, logFile string) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return childError(err, logFile)
		case <-ctx.Done():
			return fmt.Errorf("the daemon does not answer after %s; see %s", startWithin, logFile)
		case <-ticker.C:
		}
		daemon, err := m.daemon(ctx)
		if err != nil {
			continue
		}
		status, err := daemon.Status(ctx)
		if err == nil && slices.ContainsFunc(status.Roots, func(r control.RootStatus) bool { return resolved(r.Root) == resolved(dir) }) {
			return nil
		}
	}
}

// childError is what a child that could not start said last.
func childError(err error, logFile string) error {
	message, hint := lastWords(logFile)
	var exit *exec.ExitError
	if message == "" || !errors.As(err, &exit) {
		return fmt.Errorf("the daemon ended at once; see %s", logFile)
	}
	for _, row := range api.Errors {
		if row.Exit == exit.ExitCode() {
			return withHint(&relayed{message, row.Err}, "%s", hint)
		}
	}
	return withHint(errors.New(message), "%s", hint)
}

// relayed is an error in the words of another process.
type relayed struct {
	message string
	err     error // has the same exit code
}

// Error returns what the process said.
func (r *relayed) Error() string { return r.message }

// Unwrap returns an error with the same exit code.
func (r *relayed) Unwrap() error { return r.err }

// lastWords finds the error line, and the hint after it, at the end of a log.
func lastWords(logFile string) (message, hint string) {
	text, err := os.ReadFile(logFile)
	if err != nil {
		return "", ""
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if rest, ok := strings.CutPrefix(line, "teammemd: "); ok {
			message, hint = rest, ""
		}
		if rest, ok := strings.CutPrefix(line, "hint: "); ok {
			hint = rest
		}
	}
	return message, hint
}
