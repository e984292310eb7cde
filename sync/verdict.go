package sync

import (
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// verdict remembers what the server refused, so that the same content is not
// sent again and again.
type verdict struct {
	sum   api.Checksum
	held  Held
	until time.Time // before then it is not sent again by itself
}

// verdictHolds is how long what was refused is not sent again by itself, before
// jitter.
const verdictHolds = 10 * time.Minute

// standing returns the verdict on a content, if it still counts. Its cause may be
// gone, as a twin that was retired: a cycle that finds the server changed by
// others tries again, unless it was refused a moment ago.
func (c *Core) standing(now time.Time, key api.Key, sum api.Checksum) (verdict, bool) {
	past, ok := c.refused[key]
	return past, ok && past.sum == sum && (!c.cycle.moved || now.Before(past.until))
}

// sendFailed sorts out a batch that was not accepted. Whatever the server
// objects to is held by itself; the rest goes on.
func (c *Core) sendFailed(now time.Time, err error) Effect {
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return c.end(now, err)
	}
	switch {
	case errors.Is(err, api.ErrPrecondition):
		return c.lostRace(now, err)
	case errors.Is(err, api.ErrForbidden):
		c.cycle.readOnly = err
		return c.next(now)
	case errors.Is(err, api.ErrNotFound):
		return c.end(now, api.ErrNoAccess)
	case errors.Is(err, api.ErrTooManyEntries):
		c.refuse(c.cycle.sending, refusal, func(o api.Outgoing) bool { return o.Expect == "" })
	case isVerdict(err):
		c.isolate(refusal)
	default:
		return c.end(now, err)
	}
	c.cycle.sending = nil
	return c.next(now)
}

// isVerdict reports whether err is about a batch's content, so that sending
// the same again cannot help.
func isVerdict(err error) bool {
	for _, verdict := range []error{
		api.ErrBadRequest, api.ErrKeyInvalid, api.ErrKeyConflict, api.ErrKeyRetired, api.ErrSecretFound,
		api.ErrRedacted, api.ErrRefused, api.ErrEntryTooLarge, api.ErrBodyTooLarge,
	} {
		if errors.Is(err, verdict) {
			return true
		}
	}
	return false
}

// isolate finds the keys that a verdict is about: those that it names, or, where
// it names none, by halving the batch until one is left.
func (c *Core) isolate(refusal *api.Error) {
	cy := c.cycle
	if planted.In(planted.VerdictBlocks) {
		c.refuse(cy.sending, refusal, func(api.Outgoing) bool { return true })
		return
	}
	named := make(map[string]bool)
	for _, finding := range refusal.Details.Findings {
		named[finding.Key] = true
	}
	before := len(cy.sending)
	rest := slices.DeleteFunc(slices.Clone(cy.sending), func(o api.Outgoing) bool { return named[o.Key.String()] })
	switch {
	case len(rest) < before:
		c.refuse(cy.sending, refusal, func(o api.Outgoing) bool { return named[o.Key.String()] })
	case before == 1:
		c.refuse(cy.sending, refusal, func(api.Outgoing) bool { return true })
	default:
		half := before / 2
		cy.batches = append(cy.batches, rest[half:], rest[:half:half])
	}
}

// refuse holds those of entries that match and puts the others back in front.
func (c *Core) refuse(entries []api.Outgoing, refusal *api.Error, match func(api.Outgoing) bool) {
	cy := c.cycle
	var rest []api.Outgoing
	for _, o := range entries {
		if !match(o) {
			rest = append(rest, o)
			continue
		}
		c.holdRefused(o, refusal)
	}
	switch {
	case len(rest) == len(entries):
		// Nothing matched: hold the whole batch rather than send it for ever.
		for _, o := range entries {
			c.holdRefused(o, refusal)
		}
	case len(rest) > 0:
		cy.batches = append(cy.batches, rest)
	}
}

// holdRefused holds one key for what the server said of it.
func (c *Core) holdRefused(o api.Outgoing, refusal *api.Error) {
	held := Held{Key: o.Key, Path: o.Key.String(), Reason: api.HeldRefusedByServer, Detail: refusal.Message}
	if held.Detail == "" {
		held.Detail = refusal.Err.Error()
	}
	for _, finding := range refusal.Details.Findings {
		if finding.Key == o.Key.String() {
			held.Line, held.Column, held.Rule, held.Tier = finding.Line, finding.Column, finding.Rule, finding.Tier
			held.Detail = finding.Reason
			break
		}
	}
	c.cycle.held[o.Key] = held
	c.refused[o.Key] = verdict{o.Sum, held, c.cycle.begun.Add(c.jitter(verdictHolds))}
}
