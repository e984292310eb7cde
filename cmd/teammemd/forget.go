package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) forgetCommand() *cobra.Command {
	var f forgetting
	cmd := &cobra.Command{
		Use:   "forget KEY",
		Short: "Retire a memory for the whole team",
		Long: "Retire a memory for the whole team: it leaves every machine's team directory for\n" +
			"the saved copies there, and earlier texts of it never come back by themselves.\n" +
			"'restore' undoes it. It is for maintainers, and for writers where the server\n" +
			"lets them. A text here that the server has never seen stays, held, until\n" +
			"'forget' is said of it once more.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.file = args[0]
			return a.forget(cmd.Context(), f)
		},
	}
	cmd.Flags().BoolVar(&f.yes, "yes", false, "retire without asking; asked is only at a terminal")
	cmd.Flags().BoolVar(&f.noSync, "no-sync", false, "leave the file here to the next sync")
	return cmd
}

// forgetting is one call of forget: what was asked for, and what is found out.
type forgetting struct {
	file   string // as it was named
	yes    bool
	noSync bool

	root config.Root
	key  api.Key
	past past
	held *control.Held // what keeps a text of the key here; nil for nothing
}

// forgetTries bounds how often a key is retired anew that changes meanwhile.
const forgetTries = 3

func (a *app) forget(ctx context.Context, f forgetting) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	if f.root, f.key, err = m.keyOf(f.file); err != nil {
		return err
	}
	client, err := m.dial(f.root)
	if err != nil {
		return err
	}
	version, already, err := a.retire(ctx, client, &f)
	if err != nil {
		return err
	}
	if already {
		err = m.letGo(ctx, f.root, f.key)
	}
	if !f.noSync {
		f.held = heldKey(a.followUp(ctx, m, f.root), f.key)
	}
	if f.held != nil {
		a.worse(api.ExitHeld)
	}
	return errors.Join(err, a.sayForgotten(f, version, already))
}

// retire retires the key on the server and returns the version at which it is,
// and whether it was before.
func (a *app) retire(ctx context.Context, client *remote.Client, f *forgetting) (version uint64, already bool, err error) {
	for try := 1; ; try++ {
		view, err := client.Hashes(ctx, api.Checksum{})
		if err != nil {
			return 0, false, asNoAccess(err)
		}
		f.past = pastOf(ctx, client, f.key)
		if version := view.Tombs[f.key]; version != 0 {
			return version, true, nil
		}
		if view.Sums[f.key].IsZero() {
			return 0, false, withHint(fmt.Errorf("%s has no %s on the server", f.root.Repo, f.key), "see 'teammemd status' for what is only here")
		}
		asked, err := a.askForget(f)
		if err != nil {
			return 0, false, err
		}
		pushed, err := client.Retire(ctx, f.key, view)
		switch {
		case !errors.Is(err, api.ErrPrecondition):
			return pushed.Version, false, err
		case !asked || try == forgetTries:
			// What was written a moment ago is nothing that anybody meant.
			return 0, false, withHint(fmt.Errorf("%w: %s was changed at this moment, and is not retired", err, f.key), "look at 'teammemd history %s', then ask again", shellWord(f.file))
		}
	}
}

// askForget asks a person at a terminal, and reports whether it did. Elsewhere
// nothing is asked: it can be undone.
func (a *app) askForget(f *forgetting) (asked bool, err error) {
	if f.yes || !isTerminal(a.in) || !isTerminal(a.err) {
		return false, nil
	}
	fmt.Fprintf(a.err, "  repo  %s\n  key   %s%s\nRetire it for the whole team? [y/N] ", f.root.Repo, f.key, f.past.who)
	var answer string
	_, _ = fmt.Fscanln(a.in, &answer) // an empty line is an error to Fscanln and a no to us
	if answer = strings.ToLower(answer); answer == "y" || answer == "yes" {
		return true, nil
	}
	return true, fmt.Errorf("%w: not retired", api.ErrUsage)
}

// past is what the history of a key tells about its newest text.
type past struct {
	version uint64 // of the newest text, 0 where it is not known
	who     string // a clause on who wrote it, "" where it is not known
}

// pastOf reads the past of a key; servers without history have none.
func pastOf(ctx context.Context, client *remote.Client, key api.Key) past {
	versions, err := client.History(ctx, key, 2)
	if err != nil {
		return past{} // it is an extra: the key is retired without
	}
	for _, v := range versions {
		if v.Op == "put" && !v.Redacted {
			return past{v.Version, fmt.Sprintf(", written by %s %s", who(v.Actor), ago(v.At))}
		}
	}
	return past{}
}

// undo is the command that brings the key back, "" where no version is known.
func (f forgetting) undo() string {
	if f.past.version == 0 {
		return ""
	}
	return "teammemd restore " + shellWord(fmt.Sprintf("%s@%d", f.file, f.past.version))
}

func (a *app) sayForgotten(f forgetting, version uint64, already bool) error {
	if a.json {
		return a.printJSON(struct {
			Schema  int      `json:"schema"`
			Repo    api.Repo `json:"repo"`
			Key     api.Key  `json:"key"`
			Version uint64   `json:"version"` // at which it was retired
			Already bool     `json:"already"` // before it was asked for
			Undo    string   `json:"undo,omitempty"`
			// Held is why a text stays here all the same.
			Held *control.Held `json:"held,omitempty"`
		}{schema, f.root.Repo, f.key, version, already, f.undo(), f.held})
	}
	if already {
		a.printf("retired  %s  at version %d of %s, before this\n", f.key, version, f.root.Repo)
	} else {
		a.printf("retired  %s  at version %d of %s; it leaves every machine with its next sync\n", f.key, version, f.root.Repo)
	}
	if undo := f.undo(); undo != "" {
		a.printf("undo     %s\n", undo)
	}
	if f.held != nil {
		a.printHeld(*f.held)
	}
	return nil
}

// followUp runs a cycle, so that this machine shows at once what was done on
// the server, and returns its report. What hinders it is no failure of what was
// done.
func (a *app) followUp(ctx context.Context, m machine, root config.Root) control.RootReport {
	if readPause(m.paths.RootState(root.ID), time.Now()).active() {
		a.sayf("teammemd: this machine is paused and follows when that ends\n")
		return control.RootReport{}
	}
	report, err := a.syncRoot(ctx, m, root, control.SyncRequest{Root: root.ID})
	why := report.Error
	if err != nil {
		why = errorText(err)
	}
	if why != "" {
		a.sayf("teammemd: this machine follows with its next sync: %s\n", why)
	}
	return report
}

// heldKey returns what a report says of a key that is held, nil for nothing.
func heldKey(r control.RootReport, key api.Key) *control.Held {
	i := slices.IndexFunc(r.Held, func(h control.Held) bool { return h.Key == key.String() })
	if i < 0 {
		return nil
	}
	return &r.Held[i]
}

// shellWord quotes a word for a shell where it needs it.
func shellWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
