package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	check := &cobra.Command{
		Use: "check", Short: "Check the configuration and the registered roots, report all problems", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.configCheck() },
	}
	show := &cobra.Command{
		Use: "show", Short: "Print every setting in force and where it comes from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.configShow() },
	}
	return group("config", "Check and show the configuration", check, show)
}

// configCheck reports the problems of the configuration, of the registered roots
// and of the token files together: one run tells all that is to be mended.
func (a *app) configCheck() error {
	paths, err := config.FindPaths(a.getenv)
	if err != nil {
		return err
	}
	client, problems := a.loadClient(paths)
	roots, err := config.LoadRoots(paths)
	problems = errors.Join(problems, err)
	check := func(what, file string) {
		if file == "" {
			return
		}
		if _, err := config.ReadTokenFile(file); err != nil {
			problems = errors.Join(problems, fmt.Errorf("%s: %w", what, err))
		}
	}
	check("token_file", client.Config.TokenFile)
	for _, root := range roots {
		check("root "+root.ID, root.TokenFile)
	}
	if problems != nil {
		return problems
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "config": paths.ConfigFile, "roots": len(roots)})
	}
	a.printf("ok  %s and %s\n", paths.ConfigFile, count(len(roots), "registered root"))
	return nil
}

func (a *app) configShow() error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	roots, err := m.roots()
	if err != nil {
		return err
	}
	if a.json {
		type setting struct {
			Key    string `json:"key"`
			Value  string `json:"value"`
			Source string `json:"source"`
		}
		settings := []setting{}
		for _, row := range m.client.Rows() {
			settings = append(settings, setting(row))
		}
		type place struct {
			ID     string   `json:"id"`
			Repo   api.Repo `json:"repo"`
			Dir    string   `json:"dir"`
			Server string   `json:"server"`
		}
		places := []place{}
		for _, root := range roots {
			places = append(places, place{root.ID, root.Repo, root.Dir, root.Server})
		}
		return a.printJSON(map[string]any{
			"schema": schema, "settings": settings, "roots": places,
			"paths": map[string]string{"config": m.paths.ConfigFile, "state": m.paths.StateDir, "data": m.paths.DataDir, "runtime": m.paths.RuntimeDir},
		})
	}
	a.printf("# %s\n", m.paths.ConfigFile)
	if err := m.client.Show(a.out); err != nil {
		return err
	}
	a.printf("\n# state %s\n# data %s\n# runtime %s\n", m.paths.StateDir, m.paths.DataDir, m.paths.RuntimeDir)
	for _, root := range roots {
		a.printf("root  %s  %s  %s\n", root.Repo, root.Dir, root.Server)
	}
	return nil
}
