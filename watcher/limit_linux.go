package watcher

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// raiseWatches is the command that allows more watched directories, here and
// now. What lasts is a line in /etc/sysctl.d.
func raiseWatches() string { return sysctl("fs.inotify.max_user_watches", 524_288) }

// raiseInstances allows more watchers for each user.
func raiseInstances() string { return sysctl("fs.inotify.max_user_instances", 1024) }

// sysctl doubles a limit of the kernel, to least at least.
func sysctl(name string, least int) string {
	text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if now, convErr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && convErr == nil {
		least = max(least, 2*now)
	}
	return fmt.Sprintf("sudo sysctl %s=%d", name, least)
}
