package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	teamsync "github.com/teammem/teammemd/sync"
)

// reportOf turns an engine's report into what the socket and --json carry.
func reportOf(root config.Root, r teamsync.Report, conflicts control.List[control.Conflict]) control.RootReport {
	out := control.RootReport{
		Schema:     schema,
		Repo:       root.Repo,
		Root:       root.Dir,
		Server:     root.Server,
		State:      string(r.Word),
		Sent:       r.Sent,
		Received:   r.Received,
		Unchanged:  r.Unchanged,
		Restored:   r.Restored,
		Pending:    r.Pending,
		Total:      control.Moved(r.Total),
		Conflicts:  conflicts,
		Version:    r.Position.Version,
		Epoch:      r.Position.Epoch,
		DurationMS: r.Took.Milliseconds(),
	}
	for _, key := range r.Waiting {
		out.PendingKeys = append(out.PendingKeys, key.String())
	}
	for _, h := range r.Held {
		out.Held = append(out.Held, control.Held{
			Key: h.Path, Line: h.Line, Column: h.Column, Rule: h.Rule, Tier: h.Tier,
			Reason: string(h.Reason), Detail: h.Detail, Fix: fixFor(h), More: h.More,
		})
	}
	if r.Err != nil {
		out.Error, out.Code = errorText(r.Err), api.ExitCode(r.Err)
	}
	return out
}

// movedSince turns a report into one of everything that moved since a moment:
// a daemon may have run its own cycle before the one that was asked for.
func movedSince(r control.RootReport, before control.Moved) control.RootReport {
	files := r.Sent + r.Received + r.Restored + r.Unchanged
	r.Sent, r.Received, r.Restored = r.Total.Sent-before.Sent, r.Total.Received-before.Received, r.Total.Restored-before.Restored
	r.Unchanged = max(0, files-r.Sent-r.Received-r.Restored)
	return r
}

// errorText is what a person may read of an error: one line.
func errorText(err error) string {
	if errors.Is(err, api.ErrServerChanged) {
		return "the server was restored or replaced: nothing moves until you say which side is right: teammemd resume --accept-server, or --reupload"
	}
	var refusal *api.Error
	if errors.As(err, &refusal) && refusal.Message != "" {
		return oneLine(refusal.Message)
	}
	return oneLine(err.Error())
}

// fixFor says what to do about something that is held.
func fixFor(h teamsync.Held) string {
	switch h.Reason {
	case api.HeldSecret:
		if h.Line == 0 && h.Rule != "" {
			return "rename the file: the secret is in its name; rotate it if it was ever shared"
		}
		if h.OnServer {
			return fmt.Sprintf("it is on the server already: rotate it, then teammemd scrub %s:%d", h.Path, max(1, h.Line))
		}
		fix := fmt.Sprintf("teammemd scrub %s:%d, and rotate it if it was ever shared", h.Path, max(1, h.Line))
		if h.Tier == api.TierBlock3 {
			fix += fmt.Sprintf("; if it is none: teammemd allow %s:%d", h.Path, max(1, h.Line))
		}
		return fix
	case api.HeldSecretOnServer:
		return "ask whoever wrote it to take the secret out and to rotate it"
	case api.HeldTooLarge:
		return fmt.Sprintf("split the file: an entry has at most %d bytes", api.MaxEntryBytes)
	case api.HeldEmpty:
		return "write its text again, or leave it empty for a minute"
	case api.HeldNotText:
		return "save the file as UTF-8 text, or move it out of the team directory"
	case api.HeldBadName:
		if h.Remote {
			return "ask a maintainer of the repo to retire it"
		}
		return "rename the file"
	case api.HeldCaseTwin:
		return "rename one of the two files: some systems cannot tell their names apart"
	case api.HeldLink:
		return "replace the link by a plain file"
	case api.HeldUnreadable:
		if h.Placing {
			return "let your user replace the file: write to it, to the team directory and to all below"
		}
		if h.Detail == scanner.TooSlow || h.Detail == scanner.Failed {
			return "split the file, or change its text: it can then be scanned"
		}
		return "let your user read the file"
	case api.HeldPrivateType:
		return "move the personal note out of the team directory"
	case api.HeldForgottenOnServer:
		return fmt.Sprintf("'teammemd restore %[1]s' revives it for all (see 'teammemd history %[2]s'), 'teammemd forget %[2]s' moves this text to the saved copies",
			shellWord(h.Path+"@VERSION"), shellWord(h.Path))
	case api.HeldRedacted:
		return "delete the file, or write another text: this one is not to be kept anywhere"
	case api.HeldRefusedByServer:
		return "change the file as the reason says"
	case api.HeldUnstable:
		return "it is tried again when the file rests"
	}
	return ""
}

// exitOf is the exit code that a report stands for.
func exitOf(r control.RootReport) int {
	code := r.Code
	if code == api.ExitOK && r.Pending > 0 && r.State != string(teamsync.InSync) {
		code = api.ExitTempFail
	}
	if len(r.Held) > 0 || len(r.Conflicts) > 0 {
		code = api.WorseExit(code, api.ExitHeld)
	}
	return code
}

// maxShown is how many held files are listed before only their number is told.
const maxShown = 5

// printReport writes what a person wants to know after a sync.
func (a *app) printReport(r control.RootReport) {
	a.printNotes("", r)
	a.complain(r)
	a.printSummary(r)
	a.printNotices(r)
}

// printNotes lists what needs a person, each with its way out.
func (a *app) printNotes(indent string, r control.RootReport) {
	for i, h := range r.Held {
		if i == maxShown && !a.verbose {
			a.printf("%sheld  %d more; see 'teammemd status -v'\n", indent, len(r.Held)-maxShown)
			break
		}
		a.printf("%s", indent)
		a.printHeld(h)
	}
	for i, c := range r.Conflicts {
		if i == maxShown && !a.verbose {
			a.printf("%sconflict  %d more; see 'teammemd conflicts list'\n", indent, len(r.Conflicts)-maxShown)
			break
		}
		a.printf("%sconflict  %s  your text is kept as %s  ->  teammemd conflicts show %s\n", indent, c.Key, c.ID, c.ID)
	}
}

// complain says in one line of talk what ended a cycle, and what to do.
func (a *app) complain(r control.RootReport) {
	if r.Error == "" {
		return
	}
	fmt.Fprintf(a.err, "teammemd: %s\n", r.Error)
	if hint := hintFor(r.Code); hint != "" {
		fmt.Fprintf(a.err, "hint: %s\n", hint)
	}
}

// hintFor says what to do about the exit code of a cycle.
func hintFor(code int) string {
	switch code {
	case api.ExitSignIn:
		return "join again with a new code, or give a token: teammemd init --server URL --token-file FILE"
	case api.ExitNoAccess:
		return "ask a maintainer of the repo; everything here is kept"
	case api.ExitTempFail:
		return "nothing is lost; the daemon tries again by itself, 'teammemd sync' now"
	}
	return ""
}

// printSummary is the line that a sync ends with.
func (a *app) printSummary(r control.RootReport) {
	a.printTotals(r, fmt.Sprintf(", %d unchanged", r.Unchanged))
}

func (a *app) printTotals(r control.RootReport, unchanged string) {
	a.printf("%s   %d sent, %d received%s%s, %d held%s   (%.2f s)\n", label(r.State), r.Sent, r.Received,
		plural(r.Restored, ", %d restored"), unchanged, len(r.Held), plural(r.Pending, ", %d pending"),
		(time.Duration(r.DurationMS) * time.Millisecond).Seconds())
}

// printPlan is the line that a dry run ends with.
func (a *app) printPlan(r control.RootReport) {
	a.printf("dry run   %d to send, %d to receive%s, %d unchanged, %d held   (nothing was changed)\n", r.Sent, r.Received,
		plural(r.Restored, ", %d to restore"), r.Unchanged, len(r.Held))
}

// label is a state word as prose.
func label(state string) string {
	if state == string(teamsync.InSync) {
		return "in sync"
	}
	return state
}

func (a *app) printHeld(h control.Held) {
	more := ""
	if h.More > 0 {
		more = fmt.Sprintf("  (and %d more in this file)", h.More)
	}
	if h.Rule == "" {
		a.printf("held  %s  %s: %s  ->  %s\n", h.Key, h.Reason, h.Detail, h.Fix)
		return
	}
	what := h.Rule
	if h.Reason != string(api.HeldSecret) {
		what += " (" + h.Reason + ")"
	}
	at := h.Key
	if h.Line > 0 {
		at = fmt.Sprintf("%s:%d", h.Key, h.Line)
	}
	a.printf("held  %s  %s  ->  %s%s\n", at, what, h.Fix, more)
}
