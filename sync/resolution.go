package sync

import (
	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// Resolution says how to go on after the server was restored or replaced.
type Resolution string

// The resolutions.
const (
	// AcceptServer lets the server win: every local text that differs becomes a saved copy.
	AcceptServer Resolution = "accept-server"
	// Reupload lets this machine win: every local text that differs is pushed.
	Reupload Resolution = "reupload"
)

// wentBack reports whether the server is not the one that we followed, or an
// older state of it: restored from a backup, or replaced.
func (c *Core) wentBack(view *api.View) bool {
	if planted.In(planted.BackupAccepted) {
		return false
	}
	if c.memory.Epoch != "" && view.Epoch != "" && view.Epoch != c.memory.Epoch {
		return true
	}
	return view.Version < c.memory.Version
}

// applyResolution drops what can no longer be relied on, in the way that a
// person chose. It becomes durable together with the new position: a crash finds
// all of it, or asks again.
func (c *Core) applyResolution(view *api.View) {
	for key, base := range c.memory.Bases {
		remote, live := view.Sums[key]
		if c.resolution == Reupload && live {
			c.rebase(key, agreedOn(base, remote))
			continue
		}
		c.rebase(key, api.Base{Ring: pushRing(base, api.Checksum{})})
	}
	if c.resolution == Reupload {
		// Texts without a base are pushed as well, over what the server has.
		for key := range c.cycle.local {
			if remote, live := view.Sums[key]; live && c.memory.Bases[key].Sum.IsZero() {
				c.rebase(key, agreedOn(c.memory.Bases[key], remote))
			}
		}
	}
	c.memory.Epoch, c.memory.Version, c.resolution = "", 0, ""
	c.cycle.again = c.cycle.again || c.cycle.holdsTwin() // the other one may come first now
}

// rebase changes a base now, and durably with the next commit.
func (c *Core) rebase(key api.Key, base api.Base) {
	c.memory.Bases[key] = base
	c.remember(key, base)
}
