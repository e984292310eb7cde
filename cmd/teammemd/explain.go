package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/internal/control"
	"github.com/teammem/teammemd/sync/memdir"
	"github.com/teammem/teammemd/sync/statedir"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain FILE",
		Short: "Say why a file is held, ignored or in sync",
		Args:  cobra.ExactArgs(1),
		RunE:  func(cmd *cobra.Command, args []string) error { return a.explain(cmd.Context(), args[0]) },
	}
}

// explanation is what `explain --json` prints.
type explanation struct {
	Schema int           `json:"schema"`
	Repo   api.Repo      `json:"repo"`
	Key    string        `json:"key"`
	State  string        `json:"state"` // held, ignored, in-sync, pending, absent
	Held   *control.Held `json:"held,omitempty"`
	Detail string        `json:"detail"`
}

func (a *app) explain(ctx context.Context, file string) error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	root, name, err := m.nameOf(file)
	if err != nil {
		return err
	}
	why, err := a.why(ctx, m, root, name)
	if err != nil {
		return err
	}
	if why.State == "held" {
		a.worse(api.ExitHeld)
	}
	if a.json {
		return a.printJSON(why)
	}
	if why.Held != nil {
		a.printHeld(*why.Held)
		if why.Held.Detail != "" {
			a.printf("      %s\n", why.Held.Detail)
		}
		return nil
	}
	a.printf("%s  %s  %s\n", why.State, why.Key, why.Detail)
	return nil
}

func (a *app) why(ctx context.Context, m machine, root config.Root, name string) (explanation, error) {
	out := explanation{Schema: schema, Repo: root.Repo, Key: name}
	report, err := a.syncRoot(ctx, m, root, control.SyncRequest{Root: root.ID, DryRun: true})
	if err != nil {
		return out, err
	}
	if i := slices.IndexFunc(report.Held, func(h control.Held) bool { return h.Key == name }); i >= 0 {
		out.State, out.Held, out.Detail = "held", &report.Held[i], report.Held[i].Detail
		return out, nil
	}
	content, err := os.ReadFile(filepath.Join(root.Dir, filepath.FromSlash(name)))
	switch {
	case errors.Is(err, os.ErrNotExist):
		out.State, out.Detail = "absent", "there is no such file in the team directory"
		return out, nil
	case err != nil:
		return out, fmt.Errorf("reading %s: %w", name, cause(err))
	}
	if err := m.explainContent(ctx, root, content, report.Error, &out); err != nil {
		return out, err
	}
	return out, nil
}

// explainContent tells a file that takes part from one that does not, and one
// that both sides have from one that waits.
func (m machine) explainContent(ctx context.Context, root config.Root, content []byte, trouble string, out *explanation) error {
	state, err := statedir.Open(m.paths.RootState(root.ID))
	if err != nil {
		return err
	}
	client := m.client.Config
	tree, err := memdir.Open(memdir.Options{Root: root.Dir, Save: state.Save, Extensions: client.Extensions, Ignore: client.Ignore})
	if err != nil {
		return err
	}
	memory, err := state.Load(ctx)
	if err != nil {
		return err
	}
	key, err := api.ParseKey(out.Key)
	switch {
	case err != nil || !tree.Accepts(key):
		out.State = "ignored"
		out.Detail = "hidden and temporary files take no part, nor others than " + strings.Join(client.Extensions, " and ") + " or those that the configuration ignores"
	case memory.Bases[key].Sum == api.Sum(content):
		out.State, out.Detail = "in-sync", "both sides have this text"
	case trouble != "":
		out.State, out.Detail = "pending", "it will travel when this is over: "+trouble
	default:
		out.State, out.Detail = "pending", "it travels with the next sync"
	}
	return nil
}
