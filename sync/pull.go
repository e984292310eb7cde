package sync

import (
	"errors"
	"slices"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/internal/planted"
)

func (c *Core) nextPull() Effect {
	cy := c.cycle
	if cy.mode.DryRun {
		return nil
	}
	if !cy.mode.NoPull {
		cy.pull, cy.doubted = append(cy.pull, cy.doubted...), nil
	}
	if len(cy.bury) > 0 {
		return c.nextBurial()
	}
	if len(cy.pull) == 0 {
		return nil
	}
	if len(cy.pull) > receiveKeys && len(cy.pull) > len(c.view.Sums)/2 && c.portion == receiveKeys {
		// Most of the repo: one answer is cheaper than many questions.
		cy.asking, cy.pull = cy.pull, nil
		return Receive{}
	}
	slices.SortFunc(cy.pull, api.Key.Compare) // conflicts joined behind
	n := min(len(cy.pull), c.portion)
	cy.asking, cy.pull = cy.pull[:n:n], cy.pull[n:]
	return Receive{cy.asking}
}

func (c *Core) nextBurial() Effect {
	cy := c.cycle
	install := Install{}
	for _, key := range cy.bury {
		install.Retirements = append(install.Retirements, Retirement{key, c.knownHere(key, c.memory.Bases[key])})
	}
	cy.bury, cy.install = nil, install
	return install
}

// known lists what may be displaced without a saved copy.
func known(b api.Base, more ...api.Checksum) []api.Checksum {
	sums := slices.Clone(b.Ring)
	for _, sum := range append(more, b.Sum) {
		if !sum.IsZero() {
			sums = append(sums, sum)
		}
	}
	return sums
}

func (c *Core) onReceived(now time.Time, e Received) Effect {
	cy := c.cycle
	if e.Err != nil {
		switch {
		case errors.Is(e.Err, api.ErrNotFound):
			e.Err = api.ErrNoAccess
		case errors.Is(e.Err, api.ErrOffline):
			c.portion = max(1, c.portion/4) // a slow line gets through with less at a time
		}
		return c.end(now, e.Err)
	}
	if c.isSetBack(e.At) {
		// What it has by now is no answer to what was planned. The position stays,
		// so that the next look can tell.
		cy.again, cy.unread, c.view.Checksum = true, true, api.Checksum{}
		return c.end(now, nil)
	}
	asked := make(map[api.Key]bool, len(cy.asking))
	for _, key := range cy.asking {
		asked[key] = true
	}
	cy.asking = nil
	for _, bad := range e.Invalid {
		c.spoiled(bad, asked)
	}
	install := Install{}
	for _, entry := range e.Entries {
		if asked[entry.Key] {
			delete(asked, entry.Key)
			c.arrived(now, entry, &install)
		}
	}
	if len(asked) > 0 {
		// Gone, or not valid, since the view was taken.
		cy.again, c.view.Checksum = true, api.Checksum{}
		cy.unread = true
	}
	if len(install.Placements) == 0 {
		return c.next(now)
	}
	cy.install = install
	if planted.In(planted.StateFirst) {
		for _, p := range install.Placements {
			c.remember(p.Key, agreedOn(c.memory.Bases[p.Key], p.Sum))
		}
		return c.commit()
	}
	return install
}

// spoiled holds what came with a wrong checksum or a key that is none.
func (c *Core) spoiled(name string, asked map[api.Key]bool) {
	held := Held{Path: name, Reason: api.HeldBadName, Remote: true, Detail: "the server's content for this key failed its checks"}
	if key, err := api.ParseKey(name); err == nil {
		held.Key = key
		c.cycle.held[key] = held
		delete(asked, key)
		return
	}
	if !slices.Contains(c.view.Invalid, name) { // else the view has told it
		c.cycle.stray = append(c.cycle.stray, held)
	}
}

// arrived decides again about one key, by the content that came.
func (c *Core) arrived(now time.Time, entry Arrival, install *Install) {
	cy, key := c.cycle, entry.Key
	delete(cy.merged, key) // of an earlier try
	if c.view.Sums[key] != entry.Sum {
		c.view.Sums[key] = entry.Sum
		c.view.Checksum = api.Checksum{} // it moved on; so may others have
		cy.again = true
	}
	f := c.facts(key)
	if holding, _ := sortOut(entry.Findings); len(holding) > 0 || entry.Refusal != nil {
		f.Base.Bad = entry.Sum
		c.remember(key, f.Base)
		cy.held[key] = c.badHold(key)
		return
	}
	if f.Base.Bad == entry.Sum {
		// It was held for other rules: what becomes of it is planned as for any
		// other, by the next cycle.
		f.Base.Bad = api.Checksum{}
		c.remember(key, f.Base)
		delete(cy.held, key)
		cy.again = true
		return
	}
	action := Plan(f)
	placement := api.Placement{
		Key: key, Content: entry.Content, Sum: entry.Sum, Modified: entry.Modified,
		Expect: f.Local, Known: c.knownHere(key, f.Base, entry.Sum),
	}
	switch action {
	case Pull, Restore:
	case Displace:
		mine, ok := cy.clash[key]
		if !ok || mine.Sum != f.Local {
			cy.again = true // it became a conflict just now: inspect it first
			return
		}
		saved := api.SavedCopy{Key: key, Content: mine.Content, Sum: mine.Sum, At: now, Why: whyConflict, Base: f.Base.Sum}
		if text, clean := c.joined(key, mine, entry.Content); clean {
			// Both edits are in it. What it is an edit of is the server's text.
			saved.Why = whyMerged
			placement.Content, placement.Sum, placement.Modified = text, api.SumString(text), time.Time{}
			placement.Known = append(placement.Known, placement.Sum)
			cy.merged[key] = entry.Incoming
		}
		install.Copies = append(install.Copies, saved)
		placement.Known = append(placement.Known, mine.Sum)
		if planted.In(planted.CopyInTree) {
			beside, _ := api.ParseKey(key.String() + ".conflict.md")
			install.Placements = append(install.Placements, api.Placement{Key: beside, Content: mine.Content, Sum: mine.Sum})
		}
	default:
		c.carry(now, key, f, action)
		return
	}
	c.passed(key, entry.Sum)
	install.Placements = append(install.Placements, placement)
}

func (c *Core) onInstalled(now time.Time, e Installed) Effect {
	cy := c.cycle
	if e.Err != nil {
		return c.end(now, e.Err)
	}
	for i, placed := range e.Placed {
		c.placed(now, cy.install.Placements[i], placed, e.Saved)
	}
	for i, err := range e.Retired {
		key := cy.install.Retirements[i].Key
		if unfit, ok := errors.AsType[*api.HeldError](err); ok {
			cy.held[key] = Held{Key: key, Path: key.String(), Reason: unfit.Reason, Detail: unfit.Detail}
			continue
		}
		if err != nil {
			cy.again = true
			continue
		}
		c.remember(key, buriedAt(c.memory.Bases[key], c.view.Tombs[key]))
		delete(cy.local, key)
		cy.touched[key] = true
		cy.tally.Received++
	}
	cy.install = Install{}
	if c.needsCommit() {
		return c.commit()
	}
	return c.next(now)
}

func (c *Core) placed(now time.Time, p api.Placement, outcome api.Placed, saved map[api.Key]string) {
	cy := c.cycle
	if id, merged := saved[p.Key], cy.merged[p.Key]; id != "" && merged.Key.IsZero() {
		cy.saved = append(cy.saved, Conflict{ID: id, Key: p.Key, At: now})
	}
	if outcome.Saved != "" {
		cy.saved = append(cy.saved, Conflict{ID: outcome.Saved, Key: p.Key, At: now})
	}
	var unfit *api.HeldError
	switch {
	case outcome.Err == nil:
	case errors.As(outcome.Err, &unfit):
		cy.held[p.Key] = Held{Key: p.Key, Path: p.Key.String(), Reason: unfit.Reason, Detail: unfit.Detail, Placing: true}
		return
	case errors.Is(outcome.Err, api.ErrUnsettled):
		cy.again = true
		return
	default:
		cy.again = true
		cy.placeErr = outcome.Err
		return
	}
	base := c.memory.Bases[p.Key]
	agreed, text := p.Sum, p.Content
	if theirs, ok := cy.merged[p.Key]; ok {
		agreed, text = theirs.Sum, theirs.Content
		cy.again = true // the merge is an edit of it: to be sent
	}
	if base.Sum == p.Sum {
		cy.tally.Restored++
	} else {
		cy.tally.Received++
		cy.record.LastPull = now
	}
	delete(c.missing, p.Key)
	c.remember(p.Key, agreedOn(base, agreed))
	cy.texts[agreed] = text
	cy.local[p.Key] = api.Local{Key: p.Key, Sum: p.Sum, Bytes: len(p.Content)}
	cy.touched[p.Key] = true
}
