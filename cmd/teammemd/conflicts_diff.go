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
	from, name, err := a.comparedWith(ctx, of, m, c, fromBase)
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

// comparedWith is the text that a diff begins with, and what it is called: the
// team's, empty when there is none, or the base.
func (a *app) comparedWith(ctx context.Context, of copiesOf, m machine, c statedir.Copy, base bool) (text, name string, err error) {
	if base {
		text, known, err := baseOf(ctx, of.state, c)
		if err == nil && !known {
			err = withHint(fmt.Errorf("%w: the text that saved copy %s was made from is not kept", api.ErrUsage, c.ID), "see 'teammemd conflicts diff %s'", c.ID)
		}
		return text, "base", err
	}
	tree, err := of.tree(m)
	if err != nil {
		return "", "", err
	}
	now, _, err := teamText(ctx, tree, c.Key)
	return now.Content, "team", err
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
