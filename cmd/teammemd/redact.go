package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/sync/remote"
)

func (a *app) redactCommand() *cobra.Command {
	var r redacting
	cmd := &cobra.Command{
		Use:   "redact KEY@V | --value-from-stdin [--repo REPO] | --report ID | --reports",
		Short: "Take a text that leaked away from the server and from every machine",
		Long: "Takes the content of one version away for good, or every content that holds the\n" +
			"value on standard input: from history, from the database's files, and, with\n" +
			"their next sync, from the state and the saved copies of every machine. Who wrote\n" +
			"and when stays. It cannot be undone. Live texts get " + api.RedactedText + " in the value's\n" +
			"place, or are retired with --retire.\n\n" +
			"--report tells which machines may have had it, and which of them have cleaned up\n" +
			"by now; --reports lists the redactions that were made.\n\n" +
			"It is for maintainers. What leaked has to be changed where it is valid, too.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				r.what = args[0]
			}
			if r.report != 0 || r.reports || cmd.Flags().Changed("report") {
				return a.redactReport(cmd.Context(), &r)
			}
			return a.redact(cmd.Context(), &r)
		},
	}
	cmd.Flags().BoolVar(&r.fromStdin, "value-from-stdin", false, "the value that leaked is on standard input: never on the command line, where others see it")
	cmd.Flags().StringVar(&r.repo, "repo", "", "with --value-from-stdin or a report: the registered repo, if not that of the working directory")
	cmd.Flags().BoolVar(&r.retire, "retire", false, "retire live memories that hold it, instead of replacing the value in them")
	cmd.Flags().BoolVar(&r.dryRun, "dry-run", false, "only say what would be taken away")
	cmd.Flags().BoolVar(&r.yes, "yes", false, "redact without asking; asked is only at a terminal")
	cmd.Flags().Uint64Var(&r.report, "report", 0, "which machines may have what the redaction `ID` took away, and which have cleaned up")
	cmd.Flags().BoolVar(&r.reports, "reports", false, "list the redactions that were made")
	return cmd
}

// redacting is one call of redact.
type redacting struct {
	what      string // KEY@V
	fromStdin bool
	repo      string
	retire    bool
	dryRun    bool
	yes       bool
	report    uint64 // a redaction's id
	reports   bool

	root    config.Root
	key     api.Key
	request api.RedactRequest
}

// maxLeaked bounds what is read from standard input, in bytes.
const maxLeaked = 8 << 10

func (a *app) redact(ctx context.Context, r *redacting) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	if err := r.prepare(a, m); err != nil {
		return err
	}
	if r.request.Value == "" {
		if err := askable(ctx, r.key); err != nil {
			return err
		}
	}
	client, err := m.dial(r.root)
	if err != nil {
		return err
	}
	if err := a.askRedact(ctx, client, r); err != nil {
		return err
	}
	answer, err := client.Redact(ctx, r.request)
	if err != nil {
		return redactError(err, r)
	}
	if err := a.printRedacted(r.root.Repo, answer); err != nil {
		return err
	}
	if answer.Contents > 0 && !answer.DryRun {
		a.followUp(ctx, m, r.root)
	}
	if !answer.Scrubbed && !answer.DryRun {
		return fmt.Errorf("%w: %s", api.ErrUnavailable, answer.Unscrubbed)
	}
	return nil
}

// prepare finds out what is asked for.
func (r *redacting) prepare(a *app, m machine) (err error) {
	r.request = api.RedactRequest{Retire: r.retire, DryRun: r.dryRun}
	if r.fromStdin == (r.what != "") {
		return withHint(fmt.Errorf("%w: redact takes KEY@VERSION, or --value-from-stdin", api.ErrUsage), "see 'teammemd history' for the versions")
	}
	if r.fromStdin {
		return r.prepareValue(a, m)
	}
	if r.repo != "" {
		return fmt.Errorf("%w: --repo goes with --value-from-stdin; the key's file says which repo it is of", api.ErrUsage)
	}
	file, number, ok := cutLast(r.what, "@")
	r.request.Version, err = strconv.ParseUint(strings.TrimPrefix(number, "v"), 10, 64)
	if !ok || err != nil || file == "" || r.request.Version == 0 {
		return withHint(fmt.Errorf("%w: redact takes KEY@VERSION", api.ErrUsage), "see 'teammemd history KEY' for the versions")
	}
	root, key, err := m.keyOf(file)
	r.root, r.key, r.request.Key = root, key, key.String()
	return err
}

func (r *redacting) prepareValue(a *app, m machine) error {
	var err error
	if r.root, err = m.rootOf(r.repo); err != nil {
		return err
	}
	raw, err := io.ReadAll(io.LimitReader(a.in, maxLeaked+1))
	if err != nil {
		return errors.New("reading the value from standard input failed")
	}
	value := string(bytes.TrimRight(raw, "\r\n"))
	switch {
	case len(value) > maxLeaked:
		return fmt.Errorf("%w: the value has more than %d bytes; give its longest line alone", api.ErrUsage, maxLeaked)
	case len(value) < api.MinRedactBytes:
		return fmt.Errorf("%w: the value has fewer than %d bytes, and would be in texts by chance", api.ErrUsage, api.MinRedactBytes)
	}
	r.request.Value = value
	return nil
}

// rootOf returns the registered root of a repo by name, of the working directory
// for "".
func (m machine) rootOf(name string) (config.Root, error) {
	if name == "" {
		return m.one(nil)
	}
	repo, err := api.ParseRepo(name)
	if err != nil {
		return config.Root{}, fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	roots, err := m.roots()
	if err != nil {
		return config.Root{}, err
	}
	i := slices.IndexFunc(roots, func(root config.Root) bool { return root.Repo == repo })
	if i < 0 {
		return config.Root{}, withHint(fmt.Errorf("%w: %s is not registered on this machine", api.ErrUsage, repo), "see 'teammemd status', or register it with 'teammemd init'")
	}
	return roots[i], nil
}

// askRedact tells at a terminal what would go, and asks.
func (a *app) askRedact(ctx context.Context, client *remote.Client, r *redacting) error {
	if r.yes || r.dryRun || r.fromStdin || !isTerminal(a.in) || !isTerminal(a.err) {
		return nil
	}
	preview := r.request
	preview.DryRun = true
	answer, err := client.Redact(ctx, preview)
	if err != nil {
		return redactError(err, r)
	}
	fmt.Fprintf(a.err, "  repo      %s\n  versions  %d\nTake them away for good? [y/N] ", r.root.Repo, len(answer.Versions))
	var word string
	_, _ = fmt.Fscanln(a.in, &word) // an empty line is an error to Fscanln and a no to us
	if word = strings.ToLower(word); word == "y" || word == "yes" {
		return nil
	}
	return fmt.Errorf("%w: not redacted", api.ErrUsage)
}

func redactError(err error, r *redacting) error {
	switch {
	case errors.Is(err, api.ErrNotFound) && r.request.Version != 0:
		return withHint(fmt.Errorf("%w: there is no text at version %d of %s that you may read", api.ErrNoAccess, r.request.Version, r.request.Key), "see 'teammemd history %s'", r.request.Key)
	case errors.Is(err, api.ErrPrecondition):
		return withHint(err, "'teammemd scrub' and 'teammemd sync', then ask again; or --retire")
	}
	return asNoAccess(err)
}

func (a *app) printRedacted(repo api.Repo, answer api.RedactAnswer) error {
	if a.json {
		return a.printJSON(struct {
			Schema int `json:"schema"`
			api.RedactAnswer
		}{schema, answer})
	}
	if answer.Contents == 0 {
		a.printf("nothing   no version of %s holds it\n", repo)
		return nil
	}
	word := "redacted"
	if answer.DryRun {
		word = "would go"
	}
	a.printf("%s  %d texts in %d versions of %s\n", word, answer.Contents, len(answer.Versions), repo)
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "VERSION\tWHEN\tWHO\tKEY")
	for _, v := range answer.Versions {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", v.Version, v.At.Local().Format(time.DateTime), who(v.Actor), v.Key)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(answer.Live)) {
		a.printf("live      %s  %s\n", key, answer.Live[key])
	}
	for _, report := range answer.Reports {
		if err := a.printRedaction(report); err != nil {
			return err
		}
		a.printf("later     teammemd redact --report %d --repo %s\n", report.ID, repo)
	}
	if !answer.DryRun {
		a.printf("machines  each takes it out of its state and saved copies with its next sync\n")
		a.printf("rotate    change what leaked where it is valid: copies outside of teammemd stay\n")
	}
	return nil
}
