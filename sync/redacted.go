package sync

import (
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
)

// The team can take a content away for good: the server's ledger of redactions
// names it. It is the one exception to the promise that no text is lost. This
// file makes a client follow: what is kept outside of the team directory goes
// first, before anything is planned, and the plan takes such a text out of the
// team directory without a saved copy.

// purge returns the effect that takes in a ledger that this process has not seen
// yet, nil where there is nothing to do.
func (c *Core) purge() Effect {
	ledger := c.view.Redacted
	if len(ledger) == len(c.redacted) && !slices.ContainsFunc(ledger, func(sum api.Checksum) bool { return !c.redacted[sum] }) {
		return nil
	}
	if c.cycle.mode.DryRun {
		return nil
	}
	return Purge{slices.Clone(ledger)}
}

func (c *Core) onPurged(now time.Time, e Purged) Effect {
	if e.Err != nil {
		return c.end(now, e.Err)
	}
	c.redacted = make(map[api.Checksum]bool, len(c.view.Redacted))
	for _, sum := range c.view.Redacted {
		c.redacted[sum] = true
	}
	for key, base := range c.memory.Bases {
		if without, changed := c.withoutRedacted(base); changed {
			c.remember(key, without)
			c.memory.Bases[key] = without // plans are made from it, before it is recorded
		}
	}
	return c.viewed(now)
}

// withoutRedacted returns a base that does not name what the team took away.
func (c *Core) withoutRedacted(b api.Base) (api.Base, bool) {
	redacted := func(sum api.Checksum) bool { return c.redacted[sum] }
	if !redacted(b.Sum) && !redacted(b.Bad) && !slices.ContainsFunc(b.Ring, redacted) {
		return b, false
	}
	b.Ring = slices.DeleteFunc(slices.Clone(b.Ring), redacted)
	if redacted(b.Sum) {
		b.Sum = api.Checksum{}
	}
	if redacted(b.Bad) {
		b.Bad = api.Checksum{}
	}
	return b, true
}

// knownHere lists what may be displaced at a key without a saved copy.
func (c *Core) knownHere(key api.Key, base api.Base, more ...api.Checksum) []api.Checksum {
	sums := known(base, more...)
	if local := c.cycle.local[key].Sum; c.redacted[local] {
		sums = append(sums, local)
	}
	return sums
}
