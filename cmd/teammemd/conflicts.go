package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

func (a *app) conflictsCommand() *cobra.Command {
	list := &cobra.Command{
		Use: "list", Short: "List the saved copies", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.conflictsList() },
	}
	show := &cobra.Command{
		Use: "show ID", Short: "Print a saved copy, and mark it read", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.conflictsShow(args[0]) },
	}
	restore := &cobra.Command{
		Use: "restore ID", Short: "Put a saved copy back as an ordinary edit", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.conflictsRestore(cmd.Context(), args[0]) },
	}
	drop := &cobra.Command{
		Use: "drop ID", Short: "Delete a saved copy", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.conflictsDrop(args[0]) },
	}
	return group("conflicts", "List, show, compare, merge, restore and drop saved copies",
		list, show, a.conflictsDiffCommand(), a.conflictsMergeCommand(), restore, drop)
}

// copiesOf is the saved copies of one root.
type copiesOf struct {
	root  config.Root
	state *statedir.Dir
	list  []statedir.Copy
}

// copies reads the saved copies of all roots.
func (a *app) copies() ([]copiesOf, machine, error) {
	m, err := a.machine()
	if err != nil {
		return nil, machine{}, err
	}
	roots, err := m.roots()
	if err != nil {
		return nil, machine{}, err
	}
	var all []copiesOf
	for _, root := range roots {
		if _, err := os.Stat(m.paths.RootState(root.ID)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		state, err := statedir.Open(m.paths.RootState(root.ID))
		if err != nil {
			return nil, machine{}, err
		}
		list, err := state.Copies()
		if err != nil {
			return nil, machine{}, err
		}
		all = append(all, copiesOf{root, state, list})
	}
	return all, m, nil
}

// findCopy returns the one copy with an id.
func (a *app) findCopy(id string) (copiesOf, statedir.Copy, machine, error) {
	all, m, err := a.copies()
	if err != nil {
		return copiesOf{}, statedir.Copy{}, machine{}, err
	}
	for _, of := range all {
		for _, c := range of.list {
			if c.ID == id {
				return of, c, m, nil
			}
		}
	}
	return copiesOf{}, statedir.Copy{}, machine{}, withHint(fmt.Errorf("%w: there is no saved copy %q", api.ErrUsage, id), "see 'teammemd conflicts list'")
}

func (a *app) conflictsList() error {
	all, _, err := a.copies()
	if err != nil {
		return err
	}
	type row struct {
		ID      string    `json:"id"`
		Repo    api.Repo  `json:"repo"`
		Key     api.Key   `json:"key"`
		SavedAt time.Time `json:"saved_at"`
		Bytes   int       `json:"bytes"`
		Why     string    `json:"why"`
		Read    bool      `json:"read"`
	}
	rows := []row{}
	for _, of := range all {
		for _, c := range of.list {
			rows = append(rows, row{c.ID, of.root.Repo, c.Key, c.SavedAt, c.Bytes, c.Why, c.Read})
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "conflicts": rows})
	}
	if len(rows) == 0 {
		a.printf("no saved copies\n")
		return nil
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tREPO\tKEY\tSAVED\tBYTES\tWHY\t")
	for _, r := range rows {
		mark := ""
		if !r.Read {
			mark = "unread"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.ID, r.Repo, r.Key, r.SavedAt.Local().Format(time.DateTime), r.Bytes, r.Why, mark)
	}
	return table.Flush()
}

func (a *app) conflictsShow(id string) error {
	of, _, _, err := a.findCopy(id)
	if err != nil {
		return err
	}
	c, content, err := of.state.ReadCopy(id)
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(map[string]any{"schema": schema, "id": c.ID, "repo": of.root.Repo, "key": c.Key, "saved_at": c.SavedAt, "content": content})
	} else {
		a.printf("%s", content)
	}
	return errors.Join(err, of.state.MarkRead(id))
}

func (a *app) conflictsDrop(id string) error {
	of, c, _, err := a.findCopy(id)
	if err != nil {
		return err
	}
	if err := of.state.Drop(id); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "id": id, "dropped": true})
	}
	a.printf("dropped  %s  %s\n", id, c.Key)
	return nil
}

// conflictsRestore writes the copy into the tree. What stands there is the
// team's text, which the server has; anything else becomes a saved copy itself.
func (a *app) conflictsRestore(ctx context.Context, id string) error {
	of, _, m, err := a.findCopy(id)
	if err != nil {
		return err
	}
	c, content, err := of.state.ReadCopy(id)
	if err != nil {
		return err
	}
	tree, err := of.tree(m)
	if err != nil {
		return err
	}
	now, _, err := teamText(ctx, tree, c.Key)
	if err == nil {
		err = place(ctx, tree, of.state, api.Placement{Key: c.Key, Content: content, Sum: c.Sum, Expect: now.Sum})
	}
	if err != nil {
		return fmt.Errorf("restoring %s: %w", c.Key, err)
	}
	if err := of.state.MarkRead(id); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "id": id, "repo": of.root.Repo, "key": c.Key})
	}
	a.printf("restored  %s  %s: it travels with the next sync\n", id, c.Key)
	return nil
}

// tree opens the team directory that the copies are of.
func (of copiesOf) tree(m machine) (*memdir.Tree, error) {
	return memdir.Open(memdir.Options{
		Root: of.root.Dir, Staging: filepath.Join(of.state.Path(), "restore"), Save: of.state.Save,
		Extensions: m.client.Config.Extensions, Ignore: m.client.Config.Ignore,
	})
}

// teamText reads what stands in the tree now; there is false for a key without a
// file.
func teamText(ctx context.Context, tree *memdir.Tree, key api.Key) (now api.Loaded, there bool, err error) {
	now, err = tree.Load(ctx, key, api.Reading{Twice: true})
	if errors.Is(err, fs.ErrNotExist) {
		return api.Loaded{}, false, nil
	}
	return now, err == nil, err
}

// place puts a text over the one that the placement expects. Only that one may go
// without a copy, and only where it is a base: if the daemon has meanwhile pulled
// another, that is kept like a text of this machine.
func place(ctx context.Context, tree *memdir.Tree, state *statedir.Dir, p api.Placement) error {
	memory, err := state.Load(ctx)
	if err != nil {
		return err
	}
	base := memory.Bases[p.Key]
	if p.Expect == base.Sum || slices.Contains(base.Ring, p.Expect) {
		p.Known = []api.Checksum{p.Expect}
	}
	return tree.Place(ctx, []api.Placement{p})[0].Err
}

// fileOf is where a key lies below a team directory.
func fileOf(dir string, key api.Key) string {
	return filepath.Join(dir, filepath.FromSlash(key.String()))
}
