package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
)

func (a *app) logsCommand() *cobra.Command {
	var l logsOptions
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the daemon's log",
		Long: "Show the end of the daemon's log: of the file that 'up --detach' keeps, of the\n" +
			"one that the daemon's standard error goes to, or of the journal under systemd.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l.numbered = cmd.Flags().Changed("lines")
			return a.logs(cmd.Context(), l)
		},
	}
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "go on with what is added, until interrupted")
	cmd.Flags().IntVarP(&l.lines, "lines", "n", 50, "how many lines; all of them with --since alone")
	cmd.Flags().StringVar(&l.span, "since", "", "only the lines of the last so long, such as 10m, 1h or 2d")
	return cmd
}

// logsOptions are the flags of logs.
type logsOptions struct {
	follow   bool
	lines    int
	numbered bool // lines was given
	span     string
	since    time.Duration // span, 0 for all
}

// userJournal shows the log of the unit that we ship.
const userJournal = "journalctl --user -u teammemd.service"

// journalCommand is what is accepted as the way to a journal.
var journalCommand = regexp.MustCompile(`^journalctl( --user)? -u [\w@.:\\-]+$`)

func (a *app) logs(ctx context.Context, l logsOptions) error {
	if l.lines < 0 {
		return fmt.Errorf("%w: --lines %d is no number of lines", api.ErrUsage, l.lines)
	}
	if l.span != "" {
		var err error
		if l.since, err = parseSpan("since", l.span); err != nil {
			return err
		}
		if !l.numbered {
			l.lines = -1
		}
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	place, running, err := a.findLog(ctx, m)
	switch {
	case err != nil:
		return err
	case journalCommand.MatchString(place):
		return a.journal(ctx, place, l)
	case place != "":
		return a.logOf(ctx, place, l)
	case a.json:
		return a.printJSON(map[string]any{"schema": schema, "log": "", "lines": []string{}})
	case running:
		a.printf("there is no log to show: the daemon writes to where it was started\n")
	default:
		a.printf("there is no log: no daemon has written one here\n")
	}
	return nil
}

// findLog asks the daemon where it writes; while none runs, the last place that
// one is known to have written to counts.
func (a *app) findLog(ctx context.Context, m machine) (place string, running bool, err error) {
	daemon, err := m.daemon(ctx)
	if err == nil {
		status, err := daemon.Status(ctx)
		if err != nil {
			return "", true, err
		}
		if status.Log != "" {
			return status.Log, true, nil
		}
		running = true
	}
	// Where an open log could not be renamed it has its first name.
	names, _ := filepath.Glob(filepath.Join(m.paths.StateDir, "daemon-*.log")) // the pattern is well formed
	names = append(names, m.logFile(), filepath.Join(a.home(), "Library", "Logs", "teammemd.log"))
	if name := newest(names); name != "" {
		return name, running, nil
	}
	if !running && a.unitInstalled(m) {
		return userJournal, false, nil
	}
	return "", running, nil
}

// newest returns the file that was written last, "" where there is none.
func newest(names []string) string {
	var last time.Time
	found := ""
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && (found == "" || info.ModTime().After(last)) {
			found, last = name, info.ModTime()
		}
	}
	return found
}

// unitInstalled reports whether the user's systemd knows our unit.
func (a *app) unitInstalled(m machine) bool {
	for _, dir := range []string{
		filepath.Join(filepath.Dir(m.paths.ConfigDir), "systemd", "user"), "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user",
	} {
		if _, err := os.Stat(filepath.Join(dir, "teammemd.service")); err == nil {
			return true
		}
	}
	return false
}

// logOf prints the end of a log that is a file.
func (a *app) logOf(ctx context.Context, name string, l logsOptions) error {
	var since time.Time
	if l.since > 0 {
		since = time.Now().Add(-l.since)
	}
	var follow *follower
	if l.follow && !a.json {
		var err error
		if follow, err = followLog(name); err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
	}
	lines, size, err := tailOf(name, l.lines, since)
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	if a.json {
		texts := make([]string, 0, len(lines))
		for _, line := range lines {
			texts = append(texts, strings.TrimRight(string(line), "\r\n"))
		}
		return a.printJSON(map[string]any{"schema": schema, "log": name, "lines": texts})
	}
	for _, line := range lines {
		a.printf("%s", line)
	}
	if follow == nil {
		return nil
	}
	follow.at = size
	return follow.follow(ctx, a.out)
}

// journal runs journalctl in our place; with --json it only says how.
func (a *app) journal(ctx context.Context, command string, l logsOptions) error {
	words := strings.Fields(command)
	if l.lines >= 0 {
		words = append(words, "-n", strconv.Itoa(l.lines))
	}
	if l.since > 0 {
		words = append(words, fmt.Sprintf("--since=-%ds", int(l.since.Seconds())))
	}
	if l.follow {
		words = append(words, "-f")
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "log": strings.Join(words, " "), "lines": []string{}})
	}
	if _, err := exec.LookPath(words[0]); errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		a.printf("the log is in the journal: %s\n", strings.Join(words, " "))
		return nil
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.in, a.out.w, a.err // its pager wants the terminal itself
	err := cmd.Run()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("running '%s': %w", strings.Join(words, " "), err)
	}
	return nil
}
