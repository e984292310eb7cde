package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
	"github.com/teammem/teammemd/memory"
	"github.com/teammem/teammemd/sync/remote"
	"github.com/teammem/teammemd/sync/statedir"
)

func (a *app) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff KEY [V1 [V2]]",
		Short: "Show how a memory has changed",
		Long: "Shows, as a unified diff, the way from the server's newest text to the file here;\n" +
			"with one version, from that version to the newest; with two, from the first to\n" +
			"the second. A version that is before a memory's first, or at which it was\n" +
			"retired, has no text.",
		Args: cobra.RangeArgs(1, 3),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diff(cmd.Context(), args[0], args[1:]) },
	}
}

// side is one side of a diff.
type side struct {
	name string // as the diff calls it
	text string
}

func (a *app) diff(ctx context.Context, file string, args []string) error {
	versions, err := parseVersions(args)
	if err != nil {
		return err
	}
	m, err := a.machine()
	if err != nil {
		return err
	}
	root, key, client, err := m.askAbout(ctx, file)
	if err != nil {
		return err
	}
	past, err := client.History(ctx, key, 0)
	if err != nil {
		return asNoAccess(err)
	}
	sides := []side{}
	for _, version := range versions {
		s, err := textAt(ctx, client, key, past, version)
		if err != nil {
			return err
		}
		sides = append(sides, s)
	}
	if len(sides) < 2 {
		newest, err := textAt(ctx, client, key, past, 0)
		if err != nil {
			return err
		}
		sides = append(sides, newest)
	}
	if len(sides) < 2 {
		here, err := sideHere(ctx, m, root, key)
		if err != nil {
			return err
		}
		sides = append(sides, here)
	}
	return a.printDiff(root, key, sides[0], sides[1])
}

// parseVersions reads version numbers, with or without a v before them.
func parseVersions(args []string) (versions []uint64, err error) {
	for _, arg := range args {
		version, err := strconv.ParseUint(strings.TrimPrefix(arg, "v"), 10, 64)
		if err != nil || version == 0 {
			return nil, withHint(fmt.Errorf("%w: %q is no version", api.ErrUsage, arg), "see 'teammemd history KEY' for the versions")
		}
		versions = append(versions, version)
	}
	return versions, nil
}

// textAt returns the text that the key had at a version of the repo, which need
// not be one that changed the key; 0 means now.
func textAt(ctx context.Context, client *remote.Client, key api.Key, past []api.VersionInfo, version uint64) (side, error) {
	for _, v := range past { // newest first
		if version != 0 && v.Version > version {
			continue
		}
		name := fmt.Sprintf("version %d", v.Version)
		if v.Op != "put" {
			return side{name: name + ", retired"}, nil
		}
		answer, err := client.Content(ctx, key, v.Version)
		if err != nil {
			return side{}, err
		}
		return side{name, answer.Content}, nil
	}
	return side{name: "nothing"}, nil
}

// sideHere reads the file here.
func sideHere(ctx context.Context, m machine, root config.Root, key api.Key) (side, error) {
	state, err := statedir.Open(m.paths.RootState(root.ID))
	if err != nil {
		return side{}, err
	}
	tree, err := copiesOf{root: root, state: state}.tree(m)
	if err != nil {
		return side{}, err
	}
	now, there, err := teamText(ctx, tree, key)
	if err = errors.Join(err, tree.Close()); err != nil {
		return side{}, err
	}
	if !there {
		return side{name: "no file here"}, nil
	}
	return side{"here", now.Content}, nil
}

func (a *app) printDiff(root config.Root, key api.Key, from, to side) error {
	diff := memory.Unified(key.String()+"\t"+from.name, key.String()+"\t"+to.name, from.text, to.text)
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "repo": root.Repo, "key": key, "from": from.name, "to": to.name, "diff": diff})
	}
	if diff == "" {
		a.sayf("teammemd: %s and %s are the same\n", from.name, to.name)
	}
	a.printf("%s", diff)
	return nil
}
