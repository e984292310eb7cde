//go:build !linux && !darwin && !freebsd && !windows

package watcher

// filesPerWatch bounds a root here: kqueue holds a descriptor for every file.
const filesPerWatch = 2000

// eventSupport knows nothing of this system's file systems.
func eventSupport(string) (string, support) { return "", fullEvents }
