package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/scanner"
	teamsync "github.com/teammem/teammemd/sync"
)

func (a *app) syncCommand() *cobra.Command {
	var pull, push, dryRun bool
	cmd := &cobra.Command{
		Use:   "sync [PATH]",
		Short: "Run one full cycle now",
		Long: "Run one full cycle now: through the daemon when it runs, else alone. Without a\n" +
			"path it is about the checkout that contains the working directory, or about\n" +
			"all registered roots.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if pull && push {
				return withHint(fmt.Errorf("%w: --pull and --push exclude each other", api.ErrUsage), "leave both out for a full cycle")
			}
			req := control.SyncRequest{DryRun: dryRun}
			switch {
			case pull:
				req.Mode = control.Pull
			case push:
				req.Mode = control.Push
			}
			return a.sync(cmd.Context(), args, req)
		},
	}
	cmd.Flags().BoolVar(&pull, "pull", false, "only receive")
	cmd.Flags().BoolVar(&push, "push", false, "only send")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done, change nothing")
	return cmd
}

func (a *app) sync(ctx context.Context, args []string, req control.SyncRequest) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	roots, err := m.pick(args)
	if err != nil {
		return err
	}
	reports := make(control.List[control.RootReport], 0, len(roots))
	for _, root := range roots {
		req.Root = root.ID
		report, err := a.syncRoot(ctx, m, root, req)
		if err != nil && (len(roots) == 1 || ctx.Err() != nil) {
			return err
		}
		if err != nil { // it hinders no other root
			report = faultStatus(rootFault{root, err}).RootReport
		}
		reports = append(reports, report)
		judged := report
		if req.DryRun || req.Mode != control.Both {
			judged.Pending = 0 // left undone as it was asked for
		}
		a.worse(exitOf(judged))
	}
	if a.json {
		for _, report := range reports {
			a.complain(report)
		}
		if len(reports) == 1 {
			return a.printJSON(reports[0])
		}
		return a.printJSON(map[string]any{"schema": schema, "roots": reports})
	}
	for _, report := range reports {
		if len(reports) > 1 {
			a.printf("%s  %s\n", report.Repo, report.Root)
		}
		if req.DryRun {
			a.printNotes("", report)
			a.complain(report)
			a.printPlan(report)
			continue
		}
		a.printReport(report)
	}
	return nil
}

// syncRoot runs one cycle through the daemon, or alone when none runs.
func (a *app) syncRoot(ctx context.Context, m machine, root config.Root, req control.SyncRequest) (control.RootReport, error) {
	line := a.progressOf(ctx, root)
	defer line.end()
	daemon, err := m.daemon(ctx)
	if err == nil {
		watching, enough := context.WithCancel(ctx)
		defer enough()
		line.follow(watching, daemon, root)
		var report control.RootReport
		if report, err = daemon.Sync(ctx, req); err == nil {
			return report, nil
		}
	}
	if !errors.Is(err, control.ErrNotRunning) {
		return control.RootReport{}, err
	}
	return m.cycleOnce(ctx, root, rootOptions{
		scanner: scanner.New(scanner.Options{}), log: a.onceLog(m), tends: !req.DryRun,
		changed: func(r teamsync.Report) { line.set(progressFrom(r.Progress)) },
	}, req)
}

// modeOf translates what travels over the socket.
func modeOf(req control.SyncRequest) teamsync.Mode {
	return teamsync.Mode{NoPush: req.Mode == control.Pull, NoPull: req.Mode == control.Push, DryRun: req.DryRun}
}
