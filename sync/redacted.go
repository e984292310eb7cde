package sync

import (
	"errors"
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
	c.unconfirmed = true
	c.redacted = make(map[api.Checksum]bool, len(c.view.Redacted))
	for _, sum := range c.view.Redacted {
		c.redacted[sum] = true
	}
	for key, base := range c.memory.Bases {
		if without, changed := c.withoutRedacted(base); changed {
			c.memory.Bases[key] = without // plans are made from it, before it is recorded
			c.washed[key] = true
		}
	}
	return c.viewed(now)
}

// rememberWashed records what a purge did to bases, in the cycle of the purge or in
// the first after it whose record is kept.
func (c *Core) rememberWashed() {
	for key := range c.washed {
		c.remember(key, c.memory.Bases[key])
	}
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

// confirm returns the effect that tells the server that its ledger was carried out
// here, nil where there is nothing to tell: no ledger, nothing new about it, or a
// file in the tree that still has such a text. It comes at the very end of a cycle,
// when all that the cycle displaced is gone.
func (c *Core) confirm(err error) Effect {
	cy, view := c.cycle, c.view
	switch {
	case err != nil || cy.readOnly != nil || cy.placeErr != nil || cy.again || cy.unread || len(c.washed) > 0:
		return nil
	case cy.mode.DryRun || cy.mode.NoPull || view == nil || view.Base || len(view.Redacted) == 0:
		return nil
	case !c.unconfirmed && c.confirmed.Epoch == c.ledgerAt.Epoch:
		return nil
	}
	for _, held := range cy.held {
		if held.Reason == api.HeldRedacted {
			return nil
		}
	}
	return Confirm{At: c.ledgerAt, Known: view.Checksum}
}

// onConfirmed ends the cycle. A server that did not hear it is told again by the
// next one, which comes as after any failure.
func (c *Core) onConfirmed(now time.Time, e Confirmed) Effect {
	if errors.Is(e.Err, api.ErrNotFound) {
		e.Err = api.ErrNoAccess
	}
	if e.Err == nil {
		c.confirmed, c.unconfirmed = c.ledgerAt, false
	}
	return c.finish(now, e.Err)
}
