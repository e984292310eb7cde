// Package systemd holds the units that run teammemd under systemd, for the verb
// that installs them. Both use the notify protocol: the program must say
// READY=1, and where the unit has WatchdogSec it must also say WATCHDOG=1.
package systemd

import _ "embed"

// Names of the units.
const (
	// UserUnitName is the daemon of one person.
	UserUnitName = "teammemd.service"
	// ServerUnitName is the companion server of a machine.
	ServerUnitName = "teammemd-server.service"
)

var (
	// UserUnit is the text of the unit [UserUnitName].
	//go:embed teammemd.service
	UserUnit string
	// ServerUnit is the text of the unit [ServerUnitName].
	//go:embed teammemd-server.service
	ServerUnit string
)
