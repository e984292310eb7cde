package main

import "github.com/spf13/cobra"

// verbs lists every verb, each made in the file that is named after it.
func (a *app) verbs() []*cobra.Command {
	return []*cobra.Command{
		a.serverCommand(),
		a.versionCommand(),
	}
}
