package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/memory"
	"github.com/teammem/teammemd/sync/statedir"
)

func (a *app) conflictsDiffCommand() *cobra.Command {
	fromBase := false
	cmd := &cobra.Command{
		Use:   "diff ID",
		Short: "Show how a saved copy differs from the team's text",
		Long:  "Shows the way from the text in the team directory to the saved copy, as a\nunified diff.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.conflictsDiff(cmd.Context(), args[0], fromBase)
		},
	}
	cmd.Flags().BoolVar(&fromBase, "base", false, "show what this machine had changed before the conflict: compare with the last text that both sides had")
	return cmd
}

func (a *app) conflictsDiff(ctx context.Context, id string, fromBase bool) error {
	of, _, m, err := a.findCopy(id)
	if err != nil {
		return err
	}
	c, mine, err := of.state.ReadCopy(id)
	if err != nil {
		return err
	}
	from, name := "", "team"
	if fromBase {
		known := false
		from, known, err = baseOf(ctx, of.state, c)
		if err == nil && !known {
			err = withHint(fmt.Errorf("%w: the text that saved copy %s was made from is not kept", api.ErrUsage, id), "see 'teammemd conflicts diff %s'", id)
		}
		name = "base"
	} else {
		from, err = a.textNow(ctx, of, m, c.Key)
	}
	if err != nil {
		return err
	}
	diff := memory.Unified(c.Key.String()+"\t"+name, c.Key.String()+"\tsaved copy "+id, from, mine)
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "id": id, "repo": of.root.Repo, "key": c.Key, "from": name, "diff": diff})
	}
	if diff == "" {
		a.sayf("teammemd: both texts are the same\n")
	}
	a.printf("%s", diff)
	return nil
}

// textNow is the team's text of a key, empty when there is none.
func (a *app) textNow(ctx context.Context, of copiesOf, m machine, key api.Key) (string, error) {
	tree, err := of.tree(m)
	if err != nil {
		return "", err
	}
	now, _, err := teamText(ctx, tree, key)
	return now.Content, err
}

// baseOf is the text that a saved copy and the team's text were made from, false
// when nobody knows it.
func baseOf(ctx context.Context, state *statedir.Dir, c statedir.Copy) (text string, known bool, err error) {
	if c.Base.IsZero() {
		return "", false, nil
	}
	text, err = state.Text(ctx, c.Base)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	return text, err == nil, err
}
