package main

import "github.com/spf13/cobra"

// verbs lists every verb, each made in the file that is named after it.
func (a *app) verbs() []*cobra.Command {
	return []*cobra.Command{
		a.upCommand(),
		a.joinCommand(),
		a.initCommand(),
		a.loginCommand(),
		a.logoutCommand(),
		a.whoamiCommand(),
		a.signInsCommand(),
		a.daemonCommand(),
		a.syncCommand(),
		a.statusCommand(),
		a.logsCommand(),
		a.pauseCommand(),
		a.resumeCommand(),
		a.scanCommand(),
		a.explainCommand(),
		a.scrubCommand(),
		a.allowCommand(),
		a.conflictsCommand(),
		a.searchCommand(),
		a.historyCommand(),
		a.diffCommand(),
		a.restoreCommand(),
		a.forgetCommand(),
		a.redactCommand(),
		a.configCommand(),
		a.serverCommand(),
		a.benchCommand(),
		a.versionCommand(),
	}
}
