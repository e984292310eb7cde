//go:build unix && !linux && !darwin

package atomicfile

import "os"

func exchange(_ *os.File, _ string, _ *os.File, _ string) error { return ErrNoExchange }

func renameNoReplace(oldDir *os.File, oldName string, newDir *os.File, newName string) error {
	return linkThenRemove(oldDir, oldName, newDir, newName)
}
