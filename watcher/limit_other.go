//go:build !linux

package watcher

import "runtime"

// raiseWatches is nothing: no limit of these systems has that meaning.
func raiseWatches() string { return "" }

// raiseInstances allows more open files, of which a watched one is one.
func raiseInstances() string {
	switch runtime.GOOS {
	case "windows":
		return ""
	case "darwin":
		return "sudo launchctl limit maxfiles 65536 200000"
	}
	return "ulimit -n 65536"
}
