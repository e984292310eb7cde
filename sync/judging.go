package sync

import (
	"time"

	"github.com/teammem/teammemd/api"
)

// A verdict on a text holds for the rules that it was made by. What travels is
// judged on its way; this file is about texts that both sides have already: they
// are judged when they are first met, and again when the rules change. One in
// which something is found is told, and stays: the server has it, and so have
// others.

// ruled hears what the guard judges by.
func (c *Core) ruled(rules string) {
	if rules != c.rules {
		c.rules = rules
		clear(c.judged)
	}
	c.cycle.anew = rules != "" && rules != c.memory.Rules
}

// recheck reports whether a text that both sides have must be judged.
func (c *Core) recheck(key api.Key, f Facts) bool {
	if c.rules == "" || f.Held || f.Local.IsZero() || f.Local != f.Remote {
		return false
	}
	first := f.Base.Sum != f.Local
	return first || c.memory.Bases[key].Bad == f.Local || c.cycle.anew && c.judged[key] != f.Local
}

// rechecked takes in the verdict on a text that both sides have.
func (c *Core) rechecked(now time.Time, key api.Key, f Facts, findings []api.Finding) {
	action := Plan(f)
	if f.Local.IsZero() || f.Local != f.Remote || c.rules == "" {
		c.carry(now, key, f, action)
		return
	}
	if len(findings) > 0 {
		c.taint(key, f)
		held := secretHold(key, findings)
		held.OnServer = true
		c.cycle.held[key] = held
		return
	}
	c.judged[key] = f.Local
	if f.Base.Bad == f.Local {
		f.Base.Bad = api.Checksum{}
		if action == Nothing {
			c.remember(key, f.Base)
		}
	}
	c.carry(now, key, f, action)
}

// taint remembers that the text that both sides have is bad.
func (c *Core) taint(key api.Key, f Facts) {
	base := f.Base
	if base.Sum != f.Local {
		base = agreedOn(base, f.Local)
		c.cycle.agreed[key] = f.Local
	}
	if base.Bad != f.Local || f.Base.Sum != f.Local {
		base.Bad = f.Local
		c.remember(key, base)
	}
}

// unjudged is taint for a text that both sides have and that cannot be judged: it
// is looked at again by every cycle.
func (c *Core) unjudged(key api.Key) {
	if f := c.facts(key); c.rules != "" && !f.Held && !f.Local.IsZero() && f.Local == f.Remote {
		c.taint(key, f)
	}
}

// passed remembers that a text was found clean on its way: it need not be judged
// again where it arrived.
func (c *Core) passed(key api.Key, sum api.Checksum) {
	if c.cycle.anew {
		c.judged[key] = sum
	}
}

// judgedAll records the rules at the end of a whole cycle, once every text that
// both sides have was judged by them. What is still being written may be such a
// text; what only one side has is judged before it travels.
func (c *Core) judgedAll() {
	cy := c.cycle
	if !cy.anew || cy.unstable || cy.unread || cy.mode.NoPull || cy.mode.NoPush {
		return
	}
	for key, file := range cy.local {
		if file.Sum == c.view.Sums[key] && c.judged[key] != file.Sum && c.baseOf(key).Bad != file.Sum {
			return
		}
	}
	cy.record.Rules = c.rules
}

// baseOf is the base of a key with what the cycle has still to record.
func (c *Core) baseOf(key api.Key) api.Base {
	if base, changed := c.cycle.record.Bases[key]; changed {
		return base
	}
	return c.memory.Bases[key]
}

// sortOut parts what holds a text from what a person let pass, rule to reason.
func sortOut(findings []api.Finding) (holding []api.Finding, allowed map[string]string) {
	for _, f := range findings {
		if f.Allowed == "" {
			holding = append(holding, f)
			continue
		}
		if allowed == nil {
			allowed = make(map[string]string)
		}
		allowed[f.Rule] = f.Allowed
	}
	return holding, allowed
}

// vouched returns what the server says of its contents of keys.
func (c *Core) vouched(keys []api.Key) map[api.Key]api.Vouched {
	if len(c.view.Allowed) == 0 {
		return nil
	}
	said := make(map[api.Key]api.Vouched)
	for _, key := range keys {
		if rules := c.view.Allowed[key]; len(rules) > 0 {
			said[key] = api.Vouched{Sum: c.view.Sums[key], Rules: rules}
		}
	}
	return said
}

// vouchedBy keeps the view true after a text was accepted.
func (c *Core) vouchedBy(sent api.Outgoing) {
	if len(sent.Allowed) == 0 {
		delete(c.view.Allowed, sent.Key)
		return
	}
	if c.view.Allowed == nil {
		c.view.Allowed = make(map[api.Key]map[string]string)
	}
	c.view.Allowed[sent.Key] = sent.Allowed
}
