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
	return isBack(api.Position{Epoch: c.memory.Epoch, Version: c.memory.Version}, positionOf(view))
}

// isBack reports whether now is no later state of the server that was at then.
func isBack(then, now api.Position) bool {
	if then.Epoch != "" && now.Epoch != "" && now.Epoch != then.Epoch {
		return true
	}
	return now.Version < then.Version
}

// isSetBack reports whether the server went back since the view was taken, as far
// as it says where it is.
func (c *Core) isSetBack(now api.Position) bool {
	return now.Version > 0 && isBack(positionOf(c.view), now)
}

func positionOf(view *api.View) api.Position {
	return api.Position{Epoch: view.Epoch, Version: view.Version}
}

// mayResolve reports whether this cycle may go on with a server that went back:
// a person said how, and not about one that went back again since, which is noted.
func (c *Core) mayResolve(view *api.View) bool {
	if c.resolution == "" || isBack(c.about, positionOf(view)) {
		return false
	}
	c.about = positionOf(view)
	return !c.cycle.mode.DryRun
}

// resolve drops what can no longer be relied on, in the way that a person chose.
// It counts once it is durable, together with the new position: a crash before
// finds nothing of it, and asks again; a record that fails leaves what is known
// as it was, and the word for another try.
func (c *Core) resolve() Effect {
	c.cycle.resolving = true
	for key, base := range c.memory.Bases {
		remote, live := c.view.Sums[key]
		if c.resolution == Reupload && live {
			c.remember(key, agreedOn(base, remote))
			continue
		}
		c.remember(key, api.Base{Ring: pushRing(base, api.Checksum{})})
	}
	if c.resolution == Reupload {
		// Texts without a base are pushed as well, over what the server has.
		for key := range c.cycle.local {
			if remote, live := c.view.Sums[key]; live && c.memory.Bases[key].Sum.IsZero() {
				c.remember(key, agreedOn(c.memory.Bases[key], remote))
			}
		}
	}
	c.followed()
	return c.commit()
}

// resolved is called once what a person's word does is durable.
func (c *Core) resolved() {
	c.resolution, c.about = "", api.Position{}
	c.cycle.resolving = false
}
