package bench

import (
	"fmt"
	"os"
	"slices"
)

// rig is a place for real processes to be measured in: one temporary directory
// with everything that they read or write, nothing of the user's among it. One
// goroutine uses it.
type rig struct {
	dir       string
	processes []*process // in the order of their start
}

func newRig(tempDir string) (*rig, error) {
	dir, err := os.MkdirTemp(tempDir, "teammemd-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a place to measure in: %w", err)
	}
	return &rig{dir: dir}, nil
}

// close ends what was started, the latest first, and removes the directory.
func (r *rig) close() error {
	for _, p := range slices.Backward(r.processes) {
		p.end()
	}
	if err := os.RemoveAll(r.dir); err != nil {
		return fmt.Errorf("removing what was measured with: %w", err)
	}
	return nil
}
