package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/scanner"
)

// guard lets the engine of one root ask the scanner, and knows what may pass all
// the same: by the team's policy any tier; by a person's word on this machine, or
// by that of a teammate for which the server vouches, the third tier alone.
type guard struct {
	scanner    *scanner.Scanner
	rules      *rulesName
	repo       api.Repo
	allowances *allowances
	key        func() []byte            // this machine's key for findings
	policy     func() []api.PolicyEntry // of the team
	text       func(ctx context.Context, sum api.Checksum) (string, error)
	now        func() time.Time

	reading sync.Mutex // held while text is asked, which is one goroutine's
}

// newGuard returns the guard of a root. text reads the texts of bases.
func (m machine) newGuard(repo api.Repo, sc *scanner.Scanner, policy func() []api.PolicyEntry,
	text func(context.Context, api.Checksum) (string, error), log *slog.Logger,
) *guard {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &guard{
		scanner: sc, rules: newRulesName(sc, m.paths.StateDir), repo: repo,
		allowances: newAllowances(m.paths.StateDir, log), policy: policy, text: text, now: time.Now,
		key: sync.OnceValue(func() []byte { return findingKey(m.paths.StateDir) }),
	}
}

// Check returns the findings of a text that hold it, and, marked, those that
// would if nobody had let them pass.
func (g *guard) Check(ctx context.Context, key api.Key, content string, vouched api.Vouched) ([]api.Finding, error) {
	found, err := scanText(ctx, g.scanner, key.String(), content)
	g.rules.confirm()
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(f scanner.Finding) bool { return !f.Tier.Holds() })
	if len(found) == 0 {
		return nil, nil
	}
	out := translate(key.String(), content, found)
	pass := g.passes(ctx, key, content, vouched)
	for i, f := range found {
		out[i].Allowed = pass(f)
	}
	return out, nil
}

// passes returns what says why a finding of a text may pass, "" for one that holds.
func (g *guard) passes(ctx context.Context, key api.Key, content string, vouched api.Vouched) func(scanner.Finding) string {
	now, policy := g.now(), g.policy()
	allowed := make(map[string]string)
	for _, one := range g.allowances.of(g.repo, now, generationOf(g.rules.get())) {
		allowed[one.MAC] = one.Reason
	}
	known := sync.OnceValue(func() map[ruleValue]bool { return g.vouchedValues(ctx, key, content, vouched) })
	return func(f scanner.Finding) string {
		if api.Allows(policy, f.Rule, key.String(), now) {
			return api.AllowedByTeam
		}
		if f.Tier != scanner.Block3 {
			return ""
		}
		value := valueOf(f, key.String(), content)
		if len(allowed) > 0 {
			if reason := allowed[allowanceMAC(g.key(), g.repo, f.Rule, value)]; reason != "" {
				return reason
			}
		}
		reason := vouched.Rules[f.Rule]
		if reason == "" || reason == api.AllowedByTeam || !known()[ruleValue{f.Rule, value}] {
			return ""
		}
		return api.KnownReason(reason)
	}
}

// ruleValue is one finding by what it found. It lives while a text is judged.
type ruleValue struct{ rule, value string }

// vouchedValues returns what the rules of the third tier find in the text for
// which the server vouches: the text itself, or the one that it is an edit of.
// These values are on the server already. A text that is not at hand vouches for
// nothing.
func (g *guard) vouchedValues(ctx context.Context, key api.Key, content string, vouched api.Vouched) map[ruleValue]bool {
	text := content
	if api.SumString(content) != vouched.Sum {
		g.reading.Lock()
		kept, err := g.text(ctx, vouched.Sum)
		g.reading.Unlock()
		if err != nil {
			return nil
		}
		text = kept
	}
	found, err := scanText(ctx, g.scanner, key.String(), text)
	if err != nil {
		return nil
	}
	values := make(map[ruleValue]bool)
	for _, f := range found {
		if f.Tier == scanner.Block3 {
			values[ruleValue{f.Rule, valueOf(f, key.String(), text)}] = true
		}
	}
	return values
}

// valueOf is what a finding found.
func valueOf(f scanner.Finding, name, text string) string {
	start, end := f.Span()
	if f.InName {
		text = name
	}
	return text[start:end]
}

// Rules names the scanner's rules and what may pass them at this moment: when
// either changes, an allowance that expires included, everything is judged anew.
func (g *guard) Rules() string {
	name := g.rules.get()
	if name == "" {
		return ""
	}
	now := g.now()
	var passing []string
	for _, e := range g.policy() {
		if e.InForce(now) {
			passing = append(passing, "team "+e.ID)
		}
	}
	for _, one := range g.allowances.of(g.repo, now, generationOf(name)) {
		passing = append(passing, "here "+one.MAC)
	}
	if len(passing) == 0 {
		return name
	}
	slices.Sort(passing)
	hash := sha256.New()
	for _, one := range passing {
		_, _ = io.WriteString(hash, one+"\n")
	}
	return name + "+" + hex.EncodeToString(hash.Sum(nil))[:12]
}
