package sync

import (
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// planAll decides about every key that either side has or that is remembered.
func (c *Core) planAll(now time.Time) {
	cy := c.cycle
	cy.inspect, cy.outgoing, cy.batches, cy.pull, cy.bury = nil, nil, nil, nil, nil
	cy.rechecks, cy.doubted = 0, nil
	clear(cy.clash)
	clear(cy.held)
	for _, key := range c.allKeys() {
		c.planKey(now, key)
	}
	c.forgetTimes()
	c.expect()
}

// allKeys returns every key of interest, sorted.
func (c *Core) allKeys() []api.Key {
	seen := make(map[api.Key]struct{}, len(c.cycle.local)+len(c.view.Sums))
	for key := range c.cycle.local {
		seen[key] = struct{}{}
	}
	for key := range c.view.Sums {
		seen[key] = struct{}{}
	}
	for key := range c.view.Tombs {
		seen[key] = struct{}{}
	}
	for key := range c.memory.Bases {
		seen[key] = struct{}{}
	}
	keys := make([]api.Key, 0, len(seen))
	for key := range seen {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, api.Key.Compare)
	return keys
}

// facts gathers what the plan for key depends on.
func (c *Core) facts(key api.Key) Facts {
	_, unfit := c.cycle.unfit[key]
	return Facts{
		Local:    c.cycle.local[key].Sum,
		Held:     unfit,
		Remote:   c.view.Sums[key],
		Tomb:     c.view.Tombs[key],
		Base:     c.memory.Bases[key],
		Redacted: c.redacted[c.cycle.local[key].Sum],
	}
}

// planKey decides about one key by what the scan saw.
func (c *Core) planKey(now time.Time, key api.Key) {
	if held, ok := c.emptied(now, key); ok {
		c.cycle.held[key] = held
		return
	}
	f := c.facts(key)
	if c.cycle.anew && Plan(f) == HoldBad {
		// It may be good by now: it is asked for again, and held until it came.
		c.cycle.held[key], c.cycle.doubted = c.badHold(key), append(c.cycle.doubted, key)
		return
	}
	if c.recheck(key, f) {
		c.cycle.inspect = append(c.cycle.inspect, key)
		c.cycle.rechecks++
		return
	}
	action := Plan(f)
	switch action {
	case Push, Displace:
		if action == Displace && c.cycle.mode.NoPull || action == Push && c.cycle.mode.NoPush {
			return
		}
		if past, ok := c.standing(now, key, f.Local); ok && action == Push {
			c.cycle.held[key] = past.held
			return
		}
		// Only bytes that were read again and judged may leave or be saved.
		c.cycle.inspect = append(c.cycle.inspect, key)
	default:
		c.carry(now, key, f, action)
	}
}

// carry queues an action that needs no look at the local bytes.
func (c *Core) carry(now time.Time, key api.Key, f Facts, action Action) {
	cy := c.cycle
	switch action {
	case Agree:
		c.remember(key, agreedOn(f.Base, f.Remote))
		cy.agreed[key] = f.Remote
	case MarkBuried:
		c.remember(key, buriedAt(f.Base, f.Tomb))
	case Forget:
		c.remember(key, api.Base{})
	case HoldForgotten:
		cy.held[key] = Held{
			Key: key, Path: key.String(), Reason: api.HeldForgottenOnServer,
			Detail: "the team retired this key, and this text is not one that the server has seen",
		}
	case HoldRedacted:
		cy.held[key] = Held{
			Key: key, Path: key.String(), Reason: api.HeldRedacted,
			Detail: "the team took this text away for good, and has no other for the key",
		}
	case HoldBad:
		cy.held[key] = c.badHold(key)
	case Bury:
		if !cy.mode.NoPull {
			cy.bury = append(cy.bury, key)
		}
	case Pull:
		if !cy.mode.NoPull {
			cy.pull = append(cy.pull, key)
		}
	case Restore:
		if !cy.mode.NoPull && c.absentLongEnough(now, key) {
			cy.pull = append(cy.pull, key)
		}
	}
}

// badHold describes a content of the server that is kept away from agents.
func (c *Core) badHold(key api.Key) Held {
	return Held{
		Key: key, Path: key.String(), Reason: api.HeldSecretOnServer,
		Detail: "the server's text holds what looks like a secret; it is not written here",
	}
}

// absentLongEnough reports whether a deleted file may be restored: editors that
// rename leave a gap in which the file does not exist.
func (c *Core) absentLongEnough(now time.Time, key api.Key) bool {
	since, seen := c.missing[key]
	if !seen {
		since = now
		c.missing[key] = now
	}
	if c.cycle.mode.Manual || now.Sub(since) >= c.timing.Debounce {
		return true
	}
	c.recheckBy(since.Add(c.timing.Debounce))
	return false
}

// emptied holds a file that had text and is now empty: more often a save that
// is under way than an edit.
func (c *Core) emptied(now time.Time, key api.Key) (Held, bool) {
	file, here := c.cycle.local[key]
	base := c.memory.Bases[key].Sum
	if !here || file.Bytes > 0 || base.IsZero() || base == file.Sum || planted.In(planted.EmptySent) {
		return Held{}, false
	}
	seen, ok := c.empty[key]
	if !ok {
		seen.at = now
		if !file.Modified.IsZero() && file.Modified.Before(now) && c.cycle.mode.Manual {
			seen = emptySince{file.Modified, 1} // a process that just started asks the file's own clock
		}
	}
	seen.scans++
	c.empty[key] = seen
	if seen.scans >= 2 && now.Sub(seen.at) >= c.timing.EmptyHold {
		return Held{}, false
	}
	c.recheckBy(seen.at.Add(c.timing.EmptyHold))
	return Held{
		Key: key, Path: key.String(), Reason: api.HeldEmpty,
		Detail: "the file had text and is empty now; it counts as an edit after a minute",
	}, true
}

// recheckBy wants another cycle at a time.
func (c *Core) recheckBy(at time.Time) {
	if c.recheckSoon.IsZero() || at.Before(c.recheckSoon) {
		c.recheckSoon = at
	}
}

// remember changes a base, now in memory and durably with the next commit.
func (c *Core) remember(key api.Key, base api.Base) {
	if c.cycle.mode.DryRun {
		return
	}
	if c.cycle.record.Bases == nil {
		c.cycle.record.Bases = make(map[api.Key]api.Base)
	}
	c.cycle.record.Bases[key] = base
}

// forgetTimes drops the clocks of keys that no longer need one.
func (c *Core) forgetTimes() {
	for key := range c.missing {
		if _, here := c.cycle.local[key]; here || c.memory.Bases[key].Sum.IsZero() {
			delete(c.missing, key)
		}
	}
}

// forgetEmpty drops the clocks of files that a scan did not find empty.
func (c *Core) forgetEmpty() {
	for key := range c.empty {
		if file, here := c.cycle.local[key]; !here || file.Bytes > 0 {
			delete(c.empty, key)
		}
	}
}
