package main

import (
	"context"
	"errors"
	"fmt"
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

func (a *app) historyCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "history [KEY]",
		Short: "List the versions of a memory on the server, or of all",
		Long: "List the versions of one memory, newest first, or, without a key, of all that\n" +
			"belong to the checkout of the working directory. Of a redacted version only who\n" +
			"and when is left: not even its key, so that only the list of all has it.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.history(cmd.Context(), args, limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "how many versions, newest first; 0 = as many as the server sends")
	return cmd
}

func (a *app) history(ctx context.Context, args []string, limit int) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	root, key, err := m.keyOrAll(args)
	if err != nil {
		return err
	}
	if !key.IsZero() {
		if err := askable(ctx, key); err != nil {
			return err
		}
	}
	client, err := m.dial(root)
	if err != nil {
		return err
	}
	versions, err := client.History(ctx, key, limit)
	if err != nil {
		return asNoAccess(err)
	}
	if a.json {
		return a.printHistory(root.Repo, key, versions)
	}
	if len(versions) == 0 {
		a.printf("%s has no versions in %s\n", key, root.Repo)
		return nil
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	header := "VERSION\tWHEN\tWHO\tBYTES\tRULES\tWHAT\t"
	if key.IsZero() {
		header += "\tKEY"
	}
	fmt.Fprintln(table, header)
	for _, v := range versions {
		what, mark := v.Op, ""
		if v.Redacted {
			what = "redacted"
		}
		if len(v.Allowed) > 0 {
			what += ", allowed " + strings.Join(slices.Sorted(maps.Keys(v.Allowed)), " ")
		}
		if v.Current {
			mark = "current"
		}
		if key.IsZero() {
			mark += "\t" + v.Key
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", v.Version, v.At.Local().Format(time.DateTime), who(v.Actor), v.Bytes, v.Rules, what, mark)
	}
	return table.Flush()
}

func (a *app) printHistory(repo api.Repo, key api.Key, versions []api.VersionInfo) error {
	if versions == nil {
		versions = []api.VersionInfo{}
	}
	answer := map[string]any{"schema": schema, "repo": repo, "versions": versions}
	if !key.IsZero() {
		answer["key"] = key
	}
	return a.printJSON(answer)
}

// keyOrAll is keyOf of the one argument, or the root of the working directory and
// no key.
func (m machine) keyOrAll(args []string) (config.Root, api.Key, error) {
	if len(args) == 0 {
		root, err := m.one(nil)
		return root, api.Key{}, err
	}
	return m.keyOf(args[0])
}

// who is an actor in one word or two.
func who(actor api.Actor) string {
	parts := make([]string, 0, 3)
	for _, part := range []string{actor.Person, actor.Device, actor.Agent} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return actor.Token
	}
	return strings.Join(parts, "@")
}

func (a *app) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "restore KEY@V",
		Short: "Make an earlier version of a memory its newest one",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.restore(cmd.Context(), args[0]) },
	}
}

func (a *app) restore(ctx context.Context, arg string) error {
	file, number, ok := cutLast(arg, "@")
	version, err := strconv.ParseUint(strings.TrimPrefix(number, "v"), 10, 64)
	if !ok || err != nil || file == "" {
		return withHint(fmt.Errorf("%w: restore takes KEY@VERSION", api.ErrUsage), "see 'teammemd history KEY' for the versions")
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	root, key, client, err := m.askAbout(ctx, file)
	if err != nil {
		return err
	}
	answer, err := client.Restore(ctx, key, version)
	if errors.Is(err, api.ErrNotFound) {
		if before := textBefore(ctx, client, key, version); before != 0 {
			version = before
			answer, err = client.Restore(ctx, key, version)
		}
	}
	if errors.Is(err, api.ErrNotFound) {
		return withHint(fmt.Errorf("%w: there is no version %d of %s that you may read", api.ErrNoAccess, version, key), "see 'teammemd history %s'", key)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "repo": root.Repo, "key": key, "restored": version, "version": answer.Version})
	}
	a.printf("restored  %s  version %d is now version %d; every machine has it with its next sync\n", key, version, answer.Version)
	return nil
}

// textBefore returns the version of the text that was retired at a version, 0
// where nothing was: whoever names the retirement means its undoing.
func textBefore(ctx context.Context, client *remote.Client, key api.Key, retired uint64) uint64 {
	versions, err := client.History(ctx, key, 0)
	if err != nil {
		return 0
	}
	found := false
	for _, v := range versions { // newest first
		if found && v.Op == "put" {
			return v.Version
		}
		found = found || v.Version == retired && v.Op == "retire"
	}
	return 0
}

// asNoAccess reads a 404 of a repo that is registered here for what it is.
func asNoAccess(err error) error {
	if errors.Is(err, api.ErrNotFound) {
		return withHint(fmt.Errorf("%w: the server has nothing that you may read", api.ErrNoAccess), "nothing was synced yet, or your access was taken away")
	}
	return err
}
