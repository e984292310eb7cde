package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/teammem/teammemd/api"
)

// redactReport tells of redactions that were made.
func (a *app) redactReport(ctx context.Context, r *redacting) error {
	if r.what != "" || r.fromStdin || r.retire || r.dryRun || r.yes || r.reports == (r.report != 0) {
		return fmt.Errorf("%w: --report takes a redaction's id, --reports lists them; only --repo goes with them", api.ErrUsage)
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	root, err := m.rootOf(r.repo)
	if err != nil {
		return err
	}
	client, err := m.dial(root)
	if err != nil {
		return err
	}
	reports, err := client.Redactions(ctx, r.report)
	if errors.Is(err, api.ErrNotFound) && r.report != 0 {
		return withHint(fmt.Errorf("%w: there is no redaction %d of %s that you may read", api.ErrNoAccess, r.report, root.Repo), "see 'teammemd redact --reports --repo %s'", root.Repo)
	}
	if err != nil {
		return asNoAccess(err)
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "repo": root.Repo, "redactions": reports})
	}
	if r.report != 0 {
		for _, report := range reports {
			if err := a.printRedaction(report); err != nil {
				return err
			}
		}
		return nil
	}
	return a.listReports(root.Repo, reports)
}

func (a *app) listReports(repo api.Repo, reports []api.RedactionReport) error {
	if len(reports) == 0 {
		a.printf("nothing   was redacted in %s\n", repo)
		return nil
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tWHEN\tWHO\tTEXTS\tCLEANED\tOPEN")
	for _, r := range reports {
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%d\t%d\n", r.ID, r.At.Local().Format(time.DateTime), who(r.Actor), r.Contents, r.Confirmed, r.Open)
	}
	return table.Flush()
}

// printRedaction says where a redacted text had gone.
func (a *app) printRedaction(r api.RedactionReport) error {
	a.printf("report    redaction %d of %s by %s: %d texts in %d versions\n", r.ID, r.At.Local().Format(time.DateTime), who(r.Actor), r.Contents, len(r.Versions))
	a.printf("reached   %d machines: %d have cleaned up, %d have not said so; %d never came so far\n", len(r.Devices), r.Confirmed, r.Open, r.NotReached)
	if r.Full {
		a.printf("          the repo has more machines than the server keeps: there may be others\n")
	}
	if len(r.Devices) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "MACHINE\tWHO\tVERSION\tSEEN\tCLEANED")
	for _, d := range r.Devices {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", cmp.Or(d.Actor.Device, "-"), who(d.Actor), d.Pulled, d.Seen.Local().Format(time.DateTime), cleanedWord(d))
	}
	return table.Flush()
}

func cleanedWord(d api.RedactionDevice) string {
	switch {
	case d.Nameless:
		return "cannot say"
	case d.ConfirmedAt.IsZero():
		return "not yet"
	}
	return d.ConfirmedAt.Local().Format(time.DateTime)
}
