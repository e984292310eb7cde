package config

import "path/filepath"

// CheckFree refuses what [AddRoot] would: a directory that is, contains or lies
// inside that of a registered root, with a [*TakenError]. It stores nothing.
func CheckFree(p Paths, root Root) error {
	roots, err := LoadRoots(p)
	if err != nil {
		return err
	}
	root.Dir = filepath.Clean(root.Dir)
	return checkFree(root, roots)
}
