// Package launchd holds the launch agent that runs the teammemd daemon on macOS,
// for the verb that installs it.
package launchd

import _ "embed"

// AgentName is the name of the agent's file, in ~/Library/LaunchAgents.
const AgentName = "io.teammem.teammemd.plist"

// Agent is the text of the launch agent: a property list in XML.
//
//go:embed io.teammem.teammemd.plist
var Agent string
