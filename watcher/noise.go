package watcher

import (
	"path"
	"strings"
)

// noise reports whether a name is one that editors and systems make for
// themselves: nobody reads it, and a change of it alone is no reason to look.
func noise(name string) bool {
	switch {
	case strings.HasPrefix(name, "."), strings.HasPrefix(name, "~$"):
		return true // hidden files, .#locks, ._forks, .goutputstream-*, office locks
	case strings.HasSuffix(name, "~"), strings.HasSuffix(name, ".tmp"), name == "4913":
		return true // backups, temporary files, vim's probe
	case len(name) > 1 && name[0] == '#' && name[len(name)-1] == '#':
		return true // Emacs' autosave
	}
	for _, pattern := range []string{"*.sw?", "*___jb_???___"} {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true // vim's swap, JetBrains' safe write
		}
	}
	return false
}
