package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/teammem/teammemd/api"
)

// allowance is a finding that passed, and why.
type allowance struct {
	api.Finding
	key    api.Key
	reason string
}

// scan judges contents and keys of a proposal. Entries with blocking findings
// move to its refusal. It returns the findings that were allowed.
func (c *Core) scan(ctx context.Context, repo api.Repo, p *proposal, allowed []api.Allowed) ([]allowance, error) {
	may := make(map[string]map[string]string, len(allowed)) // key to rule to reason
	for _, a := range allowed {
		if may[a.Key] == nil {
			may[a.Key] = make(map[string]string)
		}
		may[a.Key][a.Rule] = api.KnownReason(a.Reason)
	}
	policy, err := c.policy(ctx, repo)
	if err != nil {
		return nil, err
	}
	rules := c.o.Rules()
	found, warned := make([][]fault, len(p.puts)), make([]int, len(p.puts))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(cap(c.scanning))
	for i, put := range p.puts {
		group.Go(func() (err error) {
			found[i], warned[i], err = c.judge(gctx, rules, put.Key.String(), put.Content, put.Sum)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var used []allowance
	kept := p.puts[:0]
	for i, put := range p.puts {
		key := put.Key.String()
		blocked := false
		for range warned[i] {
			c.o.Meter.Found(api.TierWarn, true)
		}
		passed := map[string]string{}
		for _, f := range found[i] {
			if reason := c.lets(f, key, policy.Entries, may[key]); reason != "" {
				c.o.Meter.Found(f.Tier, true)
				used = append(used, allowance{f.Finding, put.Key, reason})
				passed[f.Rule] = reason
				continue
			}
			blocked = true
			c.o.Meter.Found(f.Tier, false)
			p.refused.add(f.err, f.Finding)
		}
		if !blocked {
			put.Allowed = encodeAllowed(rules, passed)
			kept = append(kept, put)
		}
	}
	p.puts = kept
	return used, nil
}

// lets returns why a finding in a key may pass, "" for one that blocks: the team's
// policy for any tier, a person's word for the third. A content that could not be
// judged never passes.
func (c *Core) lets(f fault, key string, policy []api.PolicyEntry, allowed map[string]string) string {
	switch {
	case !errors.Is(f.err, api.ErrSecretFound):
		return ""
	case api.Allows(policy, f.Rule, key, c.o.Now()):
		return api.AllowedByTeam
	case f.Tier == api.TierBlock3 && allowed[f.Rule] != api.AllowedByTeam:
		return allowed[f.Rule]
	}
	return ""
}

// judge scans one key and its content, whose checksum is sum, unless the pair is
// known to be clean. It returns what blocks it, and how many findings do not.
func (c *Core) judge(ctx context.Context, rules, key, content string, sum api.Checksum) (faults []fault, warned int, err error) {
	pair := api.Sum(append(sum[:], key...))
	if c.verdicts.clean(rules, pair) {
		return nil, 0, nil
	}
	select {
	case c.scanning <- struct{}{}:
		defer func() { <-c.scanning }()
	case <-ctx.Done():
		return nil, 0, fmt.Errorf("%w: waiting to scan: %w", api.ErrUnavailable, ctx.Err())
	}
	began := time.Now()
	found, err := c.scanSafely(ctx, key, content)
	c.o.Meter.Scanned(time.Since(began))
	if held, ok := errors.AsType[*api.HeldError](err); ok {
		return []fault{{api.ErrRefused, api.Finding{Key: key, Rule: string(held.Reason), Reason: held.Detail}}}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: scanning for secrets: %w", api.ErrUnavailable, err)
	}
	for _, f := range found {
		if f.Tier == api.TierWarn {
			warned++
			continue
		}
		if f.Key == "" {
			f.Key = key // else the scanner has masked what it found in the key itself
		}
		faults = append(faults, fault{api.ErrSecretFound, f})
	}
	if len(faults) == 0 {
		c.verdicts.remember(rules, pair)
	}
	return faults, warned, nil
}

// scanSafely calls the scanner. One that panics has judged nothing, and must not
// take the process down from a goroutine of its caller; what it panicked with
// may hold the content.
func (c *Core) scanSafely(ctx context.Context, key, content string) (found []api.Finding, err error) {
	defer func() {
		if recover() != nil {
			found, err = nil, &api.HeldError{Reason: api.HeldUnreadable, Detail: "the scanner failed on this content"}
		}
	}()
	return c.o.Scan(ctx, key, content)
}

// withheld replaces free text in which a secret was found.
const withheld = "withheld"

// CleanText returns free text of a client that is kept beside a write, such as
// the name of a device, or a word in its place when it may hold a secret.
func (c *Core) CleanText(ctx context.Context, text string) string {
	if text == "" {
		return ""
	}
	found, _, err := c.judge(ctx, c.o.Rules(), "", text, api.SumString(text))
	if err != nil || len(found) > 0 {
		return withheld
	}
	return text
}

// CleanActor keeps what looks like a secret out of who somebody says they are.
func (c *Core) CleanActor(ctx context.Context, a api.Actor) api.Actor {
	a.Person = c.CleanText(ctx, a.Person)
	a.Device = c.CleanText(ctx, a.Device)
	a.Agent = c.CleanText(ctx, a.Agent)
	a.Session = c.CleanText(ctx, a.Session)
	return a
}
