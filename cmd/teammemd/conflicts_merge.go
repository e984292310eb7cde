package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/memory"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

func (a *app) conflictsMergeCommand() *cobra.Command {
	markers, file := false, ""
	cmd := &cobra.Command{
		Use:   "merge ID",
		Short: "Join a saved copy and the team's text, as an ordinary edit",
		Long: "Joins both edits where they do not overlap, and writes the result into the team\n" +
			"directory as an ordinary edit. Where they do, nothing there changes, and the exit\n" +
			"code is 3; --markers then shows both versions of each place, to be edited by hand.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" && !markers {
				return withHint(fmt.Errorf("%w: -o is where --markers go", api.ErrUsage), "see 'teammemd conflicts merge --help'")
			}
			return a.conflictsMerge(cmd.Context(), args[0], markers, file)
		},
	}
	cmd.Flags().BoolVar(&markers, "markers", false, "where the edits overlap, print the text with both versions marked")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write the marked text to this new file, outside of team directories")
	return cmd
}

// joining is one saved copy on its way into the tree.
type joining struct {
	of     copiesOf
	copy   statedir.Copy
	tree   *memdir.Tree
	mine   string     // the saved copy
	theirs api.Loaded // the text in the tree
	base   string
	known  bool // whether base is known
}

func (a *app) conflictsMerge(ctx context.Context, id string, markers bool, file string) error {
	of, _, m, err := a.findCopy(id)
	if err != nil {
		return err
	}
	if file != "" {
		if err := m.outsideOfTrees(file); err != nil {
			return err
		}
	}
	j, there, err := m.joining(ctx, of, id)
	if err != nil {
		return err
	}
	if !there {
		return a.notMerged(j, "there is no text of the team to merge it with", "teammemd conflicts restore "+id, "")
	}
	merged, clean := j.merge()
	if clean {
		return a.merged(ctx, j, merged)
	}
	if !markers {
		return a.notMerged(j, j.why(), fmt.Sprintf("teammemd conflicts merge %s --markers -o FILE", id), "")
	}
	marked := memory.Marked(j.base, j.mine, j.theirs.Content)
	if file == "" {
		return a.notMerged(j, j.why(), "", marked)
	}
	if err := writeNew(file, marked); err != nil {
		return err
	}
	return a.notMerged(j, j.why(), "edit "+file+", put it in the place of "+fileOf(of.root.Dir, j.copy.Key), "")
}

// joining reads the three texts; there is false when the tree has none.
func (m machine) joining(ctx context.Context, of copiesOf, id string) (j joining, there bool, err error) {
	j.of = of
	if j.copy, j.mine, err = of.state.ReadCopy(id); err != nil {
		return j, false, err
	}
	if j.tree, err = of.tree(m); err != nil {
		return j, false, err
	}
	if j.theirs, there, err = teamText(ctx, j.tree, j.copy.Key); err != nil {
		return j, false, fmt.Errorf("merging %s: %w", j.copy.Key, err)
	}
	j.base, j.known, err = baseOf(ctx, of.state, j.copy)
	return j, there, err
}

func (j joining) merge() (string, bool) {
	if !j.known {
		return memory.MergeWithoutBase(j.copy.Key, j.mine, j.theirs.Content)
	}
	return memory.Merge(j.copy.Key, j.base, j.mine, j.theirs.Content)
}

// why is the reason for which a merge is left to a person.
func (j joining) why() string {
	switch {
	case len(j.mine)+len(j.theirs.Content) > api.MaxEntryBytes:
		return fmt.Sprintf("both sides changed the same lines, or the merge is larger than %d bytes", api.MaxEntryBytes)
	case !j.known:
		return "the text that both were made from is not kept"
	}
	return "both sides changed the same lines"
}

// merged puts the result into the tree.
func (a *app) merged(ctx context.Context, j joining, text string) error {
	p := api.Placement{Key: j.copy.Key, Content: text, Sum: api.SumString(text), Expect: j.theirs.Sum}
	if err := place(ctx, j.tree, j.of.state, p); err != nil {
		return fmt.Errorf("merging %s: %w", j.copy.Key, err)
	}
	if err := j.of.state.MarkRead(j.copy.ID); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(j.result(map[string]any{"clean": true, "changed": p.Sum != p.Expect}))
	}
	if p.Sum == p.Expect {
		a.printf("merged  %s  %s: the team's text has all of it already\n", j.copy.ID, j.copy.Key)
		return nil
	}
	a.printf("merged  %s  %s: it travels with the next sync\n", j.copy.ID, j.copy.Key)
	return nil
}

// notMerged says why nothing was changed, and what a person can do. A marked text
// is the result; what is said is then talk.
func (a *app) notMerged(j joining, why, fix, marked string) error {
	a.worse(api.ExitHeld)
	if a.json {
		more := map[string]any{"clean": false, "changed": false, "reason": why}
		if marked != "" {
			more["marked"] = marked
		}
		return a.printJSON(j.result(more))
	}
	line := fmt.Sprintf("not merged  %s  %s: %s", j.copy.ID, j.copy.Key, why)
	if marked != "" {
		a.sayf("%s\n", line)
		a.printf("%s", marked)
		return nil
	}
	a.printf("%s  ->  %s\n", line, fix)
	return nil
}

// result is what --json prints, with the given members.
func (j joining) result(members map[string]any) map[string]any {
	members["schema"], members["id"], members["repo"], members["key"] = schema, j.copy.ID, j.of.root.Repo, j.copy.Key
	members["base_known"] = j.known
	return members
}

// outsideOfTrees refuses a file in a team directory: a text with marks in it must
// not travel.
func (m machine) outsideOfTrees(file string) error {
	roots, err := m.roots()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return fmt.Errorf("%w: %w", api.ErrUsage, err)
	}
	for dir := resolvedParent(abs); ; dir = filepath.Dir(dir) {
		if root, is := rootAt(roots, dir); is {
			return withHint(fmt.Errorf("%w: %s is in the team directory %s, from where it would travel", api.ErrUsage, file, root.Dir),
				"write it somewhere else, and edit it before you copy it there")
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// rootAt returns the root whose directory is dir, by whatever path it is reached.
func rootAt(roots []config.Root, dir string) (config.Root, bool) {
	here, err := os.Stat(dir)
	if err != nil {
		return config.Root{}, false
	}
	for _, root := range roots {
		if there, err := os.Stat(root.Dir); err == nil && os.SameFile(here, there) {
			return root, true
		}
	}
	return config.Root{}, false
}

// writeNew writes a private file that is not there yet: one that is may hold what
// a person has edited.
func writeNew(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return withHint(fmt.Errorf("%w: %s is there already", api.ErrUsage, file), "name a file that is not there yet")
	}
	if err != nil {
		return fmt.Errorf("writing the marked text: %w", err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the marked text to %s: %w", file, err)
	}
	return nil
}
