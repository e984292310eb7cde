package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	teamsync "github.com/teammem/teammemd/sync"
)

func (a *app) statusCommand() *cobra.Command {
	var check, watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Say how all roots stand",
		Long: "Say how all registered roots stand: from the daemon when it runs, else by a look\n" +
			"at both sides that changes nothing. The exit code is 0 unless --check is given.\n" +
			"With --watch a terminal is drawn anew in place; elsewhere each change is printed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch && check {
				return withHint(fmt.Errorf("%w: --watch and --check exclude each other", api.ErrUsage), "see '%s --help'", cmd.CommandPath())
			}
			if watch {
				return a.statusWatch(cmd.Context())
			}
			return a.status(cmd.Context(), check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "let the exit code say it too: 0 in sync, 3 held or in conflict, and so on")
	cmd.Flags().BoolVar(&watch, "watch", false, "show every change, until interrupted")
	return cmd
}

func (a *app) status(ctx context.Context, check bool) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	status, running, err := a.statusNow(ctx, m)
	if err != nil {
		return err
	}
	if check {
		for _, root := range status.Roots {
			a.worse(exitOf(root.RootReport))
		}
	}
	return a.showStatus(status, running)
}

// statusNow asks the daemon, or looks by itself when none runs.
func (a *app) statusNow(ctx context.Context, m machine) (status control.Status, running bool, err error) {
	status, running, err = a.statusOf(ctx, m)
	if err == nil {
		var damage error
		if status.Allowed, damage = m.allowedHere(time.Now()); damage != nil {
			a.sayf("teammemd: %s\n", oneLine(damage.Error()))
		}
	}
	return status, running, err
}

func (a *app) statusOf(ctx context.Context, m machine) (status control.Status, running bool, err error) {
	daemon, err := m.daemon(ctx)
	if err == nil {
		if status, err = daemon.Status(ctx); err == nil {
			return status, true, nil
		}
	}
	if !errors.Is(err, control.ErrNotRunning) {
		return control.Status{}, false, err
	}
	roots, err := m.roots()
	if err != nil {
		return control.Status{}, false, err
	}
	status = control.Status{Schema: schema, Identity: who(m.actor())}
	s := scanner.New(scanner.Options{})
	for _, root := range roots {
		one, err := m.look(ctx, root, s)
		if err != nil {
			one = faultStatus(rootFault{root, err})
		}
		status.Roots = append(status.Roots, one)
	}
	summarise(&status)
	return status, false, nil
}

// look is a dry run of one root: the truth without a daemon.
func (m machine) look(ctx context.Context, root config.Root, s *scanner.Scanner) (control.RootStatus, error) {
	r, err := m.open(ctx, root, rootOptions{scanner: s, onDemand: true})
	if err != nil {
		return control.RootStatus{}, err
	}
	report, err := r.cycle(ctx, teamsync.Mode{DryRun: true})
	if err == nil {
		// A dry run counts what would move; here that is still to be done.
		report.Sent, report.Received = 0, 0
	}
	last := r.engine.Report()
	return control.RootStatus{
		RootReport: report, LastPush: last.LastPush, LastPull: last.LastPull, Watch: watchOff,
		PausedSince: r.pause.Since, PausedUntil: r.pause.Until,
	}, errors.Join(err, r.close())
}

// faultStatus describes a root that could not be opened.
func faultStatus(fault rootFault) control.RootStatus {
	word := teamsync.Halted
	if errors.Is(fault.err, api.ErrAlreadyRunning) {
		word = teamsync.Syncing // another process is at it
	}
	return control.RootStatus{RootReport: control.RootReport{
		Schema: schema, Repo: fault.root.Repo, Root: fault.root.Dir, Server: fault.root.Server, State: string(word),
		Error: errorText(fault.err), Code: api.ExitCode(fault.err),
	}, Watch: watchOff}
}

// watchOff is said of a root that no daemon watches.
const watchOff = "off"

// wordOrder ranks state words, worst first, for the headline.
var wordOrder = []teamsync.Word{
	teamsync.Halted, teamsync.ServerChanged, teamsync.SignedOut, teamsync.NoAccess, teamsync.RootMissing,
	teamsync.Offline, teamsync.Paused, teamsync.Pending, teamsync.Syncing, teamsync.Polling, teamsync.InSync,
}

// summarise fills in what is said of all roots together.
func summarise(status *control.Status) {
	status.State = string(teamsync.InSync)
	worst := len(wordOrder)
	servers := map[string]bool{}
	for _, root := range status.Roots {
		if i := slices.Index(wordOrder, teamsync.Word(root.State)); i >= 0 && i < worst {
			worst, status.State = i, root.State
		}
		servers[root.Server] = true
	}
	if len(servers) == 1 && len(status.Roots) > 0 {
		status.Server = status.Roots[0].Server
	}
}
