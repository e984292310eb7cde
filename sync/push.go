package sync

import (
	"errors"
	"io/fs"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

// next returns the effect that brings the cycle on: commit what is agreed,
// inspect and send until nothing is left to send, then receive and install.
func (c *Core) next(now time.Time) Effect {
	if effect := c.nextPush(); effect != nil {
		return effect
	}
	if effect := c.nextPull(); effect != nil {
		return effect
	}
	if c.needsCommit() {
		return c.commit()
	}
	return c.end(now, nil)
}

func (c *Core) nextPush() Effect {
	cy := c.cycle
	if cy.readOnly != nil {
		cy.outgoing, cy.batches = nil, nil
	}
	if cy.mode.DryRun {
		return c.nextInspection()
	}
	if len(cy.batches) == 0 && len(cy.outgoing) > 0 {
		batch, rest := Pack(cy.outgoing, api.MaxBatchBytes)
		// The tail waits for the next inspection, so that batches are full.
		if len(rest) > 0 || len(cy.inspect) == 0 {
			cy.batches, cy.outgoing = [][]api.Outgoing{batch}, rest
		}
	}
	if len(cy.batches) > 0 {
		return c.send()
	}
	return c.nextInspection()
}

func (c *Core) send() Effect {
	cy := c.cycle
	last := len(cy.batches) - 1
	cy.sending, cy.batches = cy.batches[last], cy.batches[:last]
	batch := api.Batch{Entries: cy.sending}
	if c.view.Base {
		batch.IfMatch = c.view.Checksum
	}
	return Send{batch}
}

func (c *Core) nextInspection() Effect {
	cy := c.cycle
	if len(cy.inspect) == 0 {
		return nil
	}
	n, bytes := 0, 0
	for n < len(cy.inspect) && n < inspectFiles && bytes < inspectBytes {
		bytes += cy.local[cy.inspect[n]].Bytes
		n++
	}
	keys := cy.inspect[:n:n]
	cy.inspect = cy.inspect[n:]
	return Inspect{
		Keys: keys, How: api.Reading{Settle: c.timing.settle(), Twice: cy.twice},
		Bases: c.basesToMerge(keys), Vouched: c.vouched(keys),
	}
}

func (c *Core) onInspected(now time.Time, e Inspected) Effect {
	if e.Err != nil {
		return c.end(now, e.Err)
	}
	for _, file := range e.Files {
		c.inspected(now, file)
	}
	return c.next(now)
}

// loaded is what the scan saw of a file, with the bytes that were read since.
func loaded(file Inspection, seen api.Local) api.Local {
	return api.Local{Key: file.Key, Sum: file.Loaded.Sum, Bytes: len(file.Loaded.Content), Modified: seen.Modified}
}

// inspected decides again about one key, by the bytes that were read and
// judged just now.
func (c *Core) inspected(now time.Time, file Inspection) {
	cy, key := c.cycle, file.Key
	var unfit *api.HeldError
	switch {
	case errors.Is(file.Err, fs.ErrNotExist):
		delete(cy.local, key)
		cy.again = true
		return
	case errors.Is(file.Err, api.ErrUnsettled):
		cy.held[key] = Held{Key: key, Path: key.String(), Reason: api.HeldUnstable, Detail: "the file is still being written"}
		cy.again, cy.unstable = true, true
		return
	case errors.As(file.Err, &unfit):
		if file.Loaded.Sum.IsZero() {
			cy.unread = true // it became unfit since the scan: nothing is known of its text
		} else {
			cy.local[key] = loaded(file, cy.local[key])
			c.unjudged(key)
		}
		cy.held[key] = Held{Key: key, Path: key.String(), Reason: unfit.Reason, Detail: unfit.Detail}
		return
	case file.Err != nil:
		cy.unread = true
		cy.held[key] = Held{Key: key, Path: key.String(), Reason: api.HeldUnreadable, Detail: "the file could not be read"}
		return
	}
	cy.local[key] = loaded(file, cy.local[key])
	if held, ok := c.emptied(now, key); ok {
		cy.held[key] = held // since the scan
		return
	}
	f := c.facts(key)
	action := Plan(f)
	holding, allowed := sortOut(file.Findings)
	if (action == Push || action == Displace) && len(holding) > 0 {
		cy.held[key] = secretHold(key, holding)
		return
	}
	switch action {
	case Nothing, Agree:
		c.rechecked(now, key, f, holding)
	case Push:
		c.passed(key, f.Local)
		cy.outgoing = append(cy.outgoing, api.Outgoing{
			Key: key, Content: file.Loaded.Content, Sum: f.Local, Expect: f.Remote.String(), Allowed: allowed,
		})
	case Displace:
		cy.clash[key] = clash{file.Loaded, file.Base}
		cy.pull = append(cy.pull, key)
	default:
		c.carry(now, key, f, action)
	}
}

func secretHold(key api.Key, findings []api.Finding) Held {
	first := findings[0]
	return Held{
		Key: key, Path: key.String(), Reason: api.HeldSecret, Detail: first.Reason,
		Line: first.Line, Column: first.Column, Rule: first.Rule, Tier: first.Tier, More: len(findings) - 1,
	}
}

func (c *Core) onSent(now time.Time, e Sent) Effect {
	if planted.In(planted.SignedOutDrops) && errors.Is(e.Err, api.ErrSignedOut) {
		e = Sent{Answer: api.Pushed{Epoch: c.view.Epoch, Version: c.view.Version}}
	}
	if e.Err != nil {
		return c.sendFailed(now, e.Err)
	}
	cy := c.cycle
	ignored := make(map[api.Key]bool, len(e.Answer.Ignored))
	for _, key := range e.Answer.Ignored {
		ignored[key] = true
	}
	stale := false
	for _, sent := range cy.sending {
		if ignored[sent.Key] {
			stale = true // it is retired there: the next view says so
			continue
		}
		c.remember(sent.Key, agreedOn(c.memory.Bases[sent.Key], sent.Sum))
		cy.texts[sent.Sum], cy.agreed[sent.Key] = sent.Content, sent.Sum
		c.view.Sums[sent.Key] = sent.Sum
		delete(c.view.Tombs, sent.Key)
		c.vouchedBy(sent)
		delete(c.refused, sent.Key) // it was about an earlier text, and its cause may be gone as well
		cy.touched[sent.Key] = true
		cy.tally.Sent++
	}
	if c.view.Version == 0 && c.view.Epoch == "" {
		c.view.Epoch = e.Answer.Epoch // our write made the repo
	}
	ours := c.view.Version + 1 // what our write alone would have made of it
	if e.Answer.Unchanged {
		ours = c.view.Version
	}
	if other := e.Answer.Epoch != c.view.Epoch; other || e.Answer.Version > ours || e.Answer.Version < c.view.Version {
		// Somebody else wrote as well, or the server was set back under our
		// hands. The position stays, so that the next look can tell.
		stale = true
	} else {
		c.view.Version = e.Answer.Version
	}
	c.view.Checksum = e.Answer.Checksum
	if stale {
		cy.again, c.view.Checksum = true, api.Checksum{} // the view is not complete
	}
	cy.record.LastPush = now
	cy.sending = nil
	return c.commit()
}

// lostRace plans again on a fresh view, after a moment that keeps two clients
// from losing to each other for ever.
func (c *Core) lostRace(now time.Time, err error) Effect {
	cy := c.cycle
	cy.sending = nil
	cy.retries++
	if cy.retries > maxRetries {
		cy.again = true
		return c.end(now, err)
	}
	cy.raced = true
	if c.needsCommit() {
		return c.commit()
	}
	return c.pauseForRace(now)
}

// raceWait is the widest wait after the first lost race; it doubles.
const raceWait = 50 * time.Millisecond

func (c *Core) pauseForRace(now time.Time) Effect {
	cy := c.cycle
	wait := time.Duration(c.rand.Float64() * float64(raceWait<<cy.retries))
	cy.raced, cy.resumeAt = false, now.Add(wait)
	c.wakeAt = cy.resumeAt
	return nil
}
