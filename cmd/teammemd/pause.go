package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func (a *app) pauseCommand() *cobra.Command {
	var span string
	cmd := &cobra.Command{
		Use:   "pause [PATH]",
		Short: "Send and receive nothing for a while",
		Long: "Send and receive nothing until 'resume', or with --for until that time is over.\n" +
			"A pause outlives a restart of the daemon. 'sync' by hand still works. Without a\n" +
			"path it is about the checkout that contains the working directory, or about\n" +
			"all registered roots.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.pause(cmd.Context(), args, span) },
	}
	cmd.Flags().StringVar(&span, "for", "", "how long, such as 90m, 1h or 2d; until 'resume' without it")
	return cmd
}

// pausedRoot is what pause and resume say of one root.
type pausedRoot struct {
	Repo  api.Repo  `json:"repo"`
	Root  string    `json:"root"`
	Until time.Time `json:"until,omitzero"`
}

func (a *app) pause(ctx context.Context, args []string, span string) error {
	note := pauseNote{Since: time.Now().Truncate(time.Second).UTC()}
	if span != "" {
		d, err := parseSpan("for", span)
		if err != nil {
			return err
		}
		note.Until = time.Now().Add(d).UTC()
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	roots, err := m.pick(args)
	if err != nil {
		return err
	}
	paused := make([]pausedRoot, 0, len(roots))
	for _, root := range roots {
		if err := writePause(m.paths.RootState(root.ID), note); err != nil {
			return err
		}
		paused = append(paused, pausedRoot{root.Repo, root.Dir, note.Until})
	}
	if err := a.tellDaemon(ctx, m); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "paused": paused})
	}
	for _, root := range paused {
		a.printf("paused   %s  %s   %s\n", root.Repo, a.tilde(root.Root), pauseEnd(root.Until))
	}
	return nil
}

// pauseEnd says when a pause ends.
func pauseEnd(until time.Time) string {
	if until.IsZero() {
		return "until 'teammemd resume'"
	}
	left := time.Until(until).Round(time.Second)
	layout := time.TimeOnly
	if left > 12*time.Hour {
		layout = time.DateTime
	}
	return fmt.Sprintf("until %s (in %s), or 'teammemd resume'", until.Local().Format(layout), max(left, 0))
}

// endPauses ends the pauses of roots and returns those that were paused.
func (a *app) endPauses(ctx context.Context, m machine, roots []config.Root) ([]pausedRoot, error) {
	ended := []pausedRoot{}
	for _, root := range roots {
		was, err := endPause(m.paths.RootState(root.ID), time.Now())
		if err != nil {
			return nil, err
		}
		if was {
			ended = append(ended, pausedRoot{Repo: root.Repo, Root: root.Dir})
		}
	}
	if len(ended) == 0 {
		return ended, nil
	}
	return ended, a.tellDaemon(ctx, m)
}
