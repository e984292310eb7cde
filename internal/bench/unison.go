package bench

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// unison is Unison between two directories of one machine, as it is left to run:
// it looks every second, and skips what was changed on both sides.
type unison struct {
	program string
	process *process
	sides   [2]string
}

func (u *unison) name() string { return "unison -batch -repeat 1" }

func (u *unison) dirs() [2]string { return u.sides }

func (u *unison) mostTrials() int { return 20 }

func (u *unison) begin(ctx context.Context, r *rig) error {
	var home host
	for i, name := range []string{"ada", "ben"} {
		h, err := r.host(name)
		if err != nil {
			return err
		}
		home, u.sides[i] = h, h.teamDir()
	}
	if err := os.MkdirAll(filepath.Join(home.dir, ".unison"), 0o700); err != nil {
		return err
	}
	var err error
	u.process, err = home.start(ctx, nil, u.program, "-ui", "text", "-batch", "-repeat", "1", "-log=false", u.sides[0], u.sides[1])
	return err
}

// settled waits for a few of the rounds that it makes.
func (u *unison) settled(_ context.Context, still time.Duration) (bool, error) {
	return still >= 4*time.Second, u.process.alive()
}
