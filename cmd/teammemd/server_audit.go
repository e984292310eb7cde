package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/server/core"
	"github.com/teammem/teammemd/server/store"
)

// auditPage is how many rows are read at a time.
const auditPage = 1_000

// auditFlags select rows of chains.
type auditFlags struct {
	server serverFlags
	repos  repoFlag
	since  string
}

func (a *app) auditCommand() *cobra.Command {
	var flags auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Print who did what: the audit chains of a server and its repos",
		Long: "Print who did what, oldest first for each chain: writes with their keys and\n" +
			"versions, redactions, renames, sign-ins, tokens made and ended. Each row has its\n" +
			"hash, which covers all before it; 'server fsck' verifies them. Contents are in no\n" +
			"row. Reading is not recorded here but in the access log. It works beside a server\n" +
			"that runs. Without --repo the server's own chain comes first, then every repo's.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.audit(cmd.Context(), &flags, cmd.Flags().Changed("repo"))
		},
	}
	flags.server.register(cmd)
	flags.repos.register(cmd)
	cmd.Flags().StringVar(&flags.since, "since", "", "only rows since a time (2026-05-01, RFC 3339) or an age (12h)")
	return cmd
}

// auditLine is a row with the chain that it is of.
type auditLine struct {
	Repo string `json:"repo"` // "" for the server's own
	api.AuditRow
}

func (a *app) audit(ctx context.Context, flags *auditFlags, named bool) error {
	since, err := sinceTime(flags.since, time.Now())
	if err != nil {
		return err
	}
	lines := []auditLine{}
	err = a.withStore(ctx, &flags.server, func(s store.Backend) error {
		repos, err := flags.repos.among(ctx, s)
		if err != nil {
			return err
		}
		if !named {
			repos = append([]api.Repo{{}}, repos...)
		}
		for _, repo := range repos {
			if lines, err = auditOf(ctx, s, repo, since, lines); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "rows": lines})
	}
	return a.printAudit(lines)
}

// auditOf appends the rows of one chain.
func auditOf(ctx context.Context, s store.Audits, repo api.Repo, since time.Time, lines []auditLine) ([]auditLine, error) {
	for after := uint64(0); ; {
		trail, err := s.Trail(ctx, repo, after, auditPage)
		if err != nil {
			return lines, fmt.Errorf("reading an audit chain: %w", err)
		}
		for _, row := range trail {
			if !row.At.Before(since) {
				lines = append(lines, auditLine{repo.String(), core.DescribeAudit(row)})
			}
			after = row.Number
		}
		if len(trail) < auditPage {
			return lines, nil
		}
	}
}

// sinceTime reads a time, a day, or an age; the zero time for "".
func sinceTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return now.Add(-age), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: --since takes a time such as 2026-05-01 or 2026-05-01T12:00:00Z, or an age such as 12h", api.ErrUsage)
}

func (a *app) printAudit(lines []auditLine) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CHAIN\tROW\tTIME\tWHO\tACTION\tVERSION\tKEYS\tHASH")
	for _, l := range lines {
		chain, version := l.Repo, "-"
		if chain == "" {
			chain = "server"
		}
		if l.Version > 0 {
			version = strconv.FormatUint(l.Version, 10)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", chain, l.Number, l.At.UTC().Format(time.RFC3339), whoActed(l.AuditRow), l.Action, version,
			orDash(strings.Join(l.Keys, " ")), l.Hash)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the audit rows: %w", err)
	}
	return nil
}

// whoActed names an actor in one word or two, as far as something is known of them.
func whoActed(row api.AuditRow) string {
	var parts []string
	for _, part := range []string{row.Actor.Token, row.Actor.User, row.Actor.Person, row.Actor.Device, row.Actor.Agent} {
		if part = api.CleanText(part, api.MaxActorBytes); part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return row.ActorID[:min(len(row.ActorID), 12)]
	}
	return strings.Join(parts, "/")
}
