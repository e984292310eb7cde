package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/watcher"
)

// showStatus writes a status in the way that was asked for.
func (a *app) showStatus(status control.Status, running bool) error {
	if a.json {
		return a.printJSON(status)
	}
	a.printStatus(status, running)
	return a.out.lost()
}

func (a *app) printStatus(status control.Status, running bool) {
	held, conflicts := 0, 0
	for _, r := range status.Roots {
		held, conflicts = held+len(r.Held), conflicts+len(r.Conflicts)
	}
	headline := label(status.State)
	if len(status.Roots) == 0 {
		headline = "no team directory is registered; run 'teammemd up' in a checkout"
	} else if held+conflicts > 0 {
		headline += plural(held, ", %d held") + unreadClause(conflicts)
	}
	if !running && len(status.Roots) > 0 {
		headline += "   (no daemon is running: this is a look, nothing is kept in step)"
	}
	a.printf("%s\n", headline)
	if n := len(status.Allowed); n > 0 {
		a.printf("%s let pass on this machine: teammemd allow list\n", count(n, "finding"))
	}
	for _, r := range status.Roots {
		a.printRoot(r)
	}
}

func (a *app) printRoot(r control.RootStatus) {
	a.printf("\n%s  %s\n", r.Repo, a.tilde(r.Root))
	watched := ""
	if r.Watch != watchOff {
		watched = ", watched by " + r.Watch
	}
	moved := ""
	if r.Progress.Planned > 0 {
		moved = fmt.Sprintf(", %d of %d moved", r.Progress.Done, r.Progress.Planned)
	}
	a.printf("  state     %s%s, %d in step%s%s\n", label(r.State), moved, r.Unchanged+r.Sent+r.Received+r.Restored, plural(r.Pending, ", %d pending"), watched)
	a.printf("  server    %s\n", r.Server)
	if r.Error != "" {
		a.printf("  trouble   %s\n", r.Error)
	}
	if !r.PausedSince.IsZero() {
		a.printf("  paused    %s\n", pauseEnd(r.PausedUntil))
	}
	a.printWatch(r)
	if !r.NextRetry.IsZero() && time.Until(r.NextRetry) > 0 {
		a.printf("  next try  in %s\n", time.Until(r.NextRetry).Round(time.Second))
	}
	if len(r.PendingKeys) > 0 {
		a.printf("  pending   %s%s\n", strings.Join(r.PendingKeys, ", "), plural(r.Pending-len(r.PendingKeys), ", and %d more"))
	}
	a.printf("  last      sent %s, received %s\n", ago(r.LastPush), ago(r.LastPull))
	if n := r.Total.Restored; n > 0 {
		a.printf("  restored  %s that had been deleted here\n", count(n, "file"))
	}
	a.printNotes("  ", r.RootReport)
	a.printNotices(r.RootReport)
	if n := len(r.Conflicts); n > 0 {
		a.printf("  copies    %s to read: teammemd conflicts list\n", count(n, "saved text"))
	}
}

// printWatch says why a root is not watched by events, and what would change
// that.
func (a *app) printWatch(r control.RootStatus) {
	switch {
	case r.Watch != string(watcher.Polling):
	case r.WatchRemedy != "":
		a.printf("  trouble   looked at from time to time only: %s  ->  %s\n", r.WatchReason, r.WatchRemedy)
	default:
		a.printf("  polling   %s\n", r.WatchReason)
	}
}

func unreadClause(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + count(n, "conflict") + " to read"
}

// count is a number of things, in the plural unless it is one.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// plural is a clause about n things, nothing for none.
func plural(n int, format string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, n)
}

// ago says how long ago something was.
func ago(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	d := time.Since(at)
	switch {
	case d < time.Minute:
		return d.Truncate(time.Second).String() + " ago"
	case d < 48*time.Hour:
		return d.Truncate(time.Minute).String() + " ago"
	}
	return at.Local().Format(time.DateOnly)
}
