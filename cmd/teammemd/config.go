package main

import (
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

func (a *app) configCheck() error {
	m, err := a.machine()
	if err != nil {
		return err
	}
	roots, err := m.roots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if root.TokenFile == "" {
			continue
		}
		if _, err := config.ReadTokenFile(root.TokenFile); err != nil {
			return fmt.Errorf("%w: root %s: %w", api.ErrConfig, root.ID, err)
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"schema": schema, "config": m.paths.ConfigFile, "roots": len(roots)})
	}
	a.printf("ok  %s and %d registered roots\n", m.paths.ConfigFile, len(roots))
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
