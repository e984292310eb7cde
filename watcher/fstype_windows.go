package watcher

import (
	"path/filepath"

	"golang.org/x/sys/windows"
)

// filesPerWatch is no bound: directories are watched, not files.
const filesPerWatch = 0

// eventSupport returns the kind of drive and what it delivers. One that cannot
// be asked is taken for a usual one.
func eventSupport(dir string) (string, support) {
	volume := filepath.VolumeName(dir)
	if len(volume) > 2 {
		return "network share", noEvents
	}
	root, err := windows.UTF16PtrFromString(volume + `\`)
	if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "network drive", noEvents
	}
	return "", fullEvents
}
