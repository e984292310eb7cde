package corpus_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/corpus"
	"github.com/teammem/teammemd/scanner/rules"
)

// wantRules is what the rules of tokens must reach over all contexts, in
// percent. In the plain contexts every rule must find every sample.
const wantRules = 97.0

var plainContexts = []string{corpus.BareLine, corpus.KeyValue, corpus.Fence}

// ruleResult is what became of the rules' own samples.
type ruleResult struct {
	byContext, byRule tally    // of the rules of tokens, by tiers 1 and 2
	missed            []string // in plain contexts
}

var scanRules = sync.OnceValues(func() (ruleResult, error) {
	s := scanner.New(scanner.Options{})
	result := ruleResult{byContext: newTally(), byRule: newTally()}
	all := rules.All()
	if len(all) == 0 {
		return result, errors.New("no rules")
	}
	for turn, way := range corpus.Contexts() {
		if way.Glued {
			continue
		}
		for _, rule := range all {
			if !rule.TokenShaped() && way.Name != corpus.BareLine && way.Name != corpus.Fence {
				continue
			}
			if err := result.scan(s, turn, way, rule); err != nil {
				return result, err
			}
		}
	}
	slices.Sort(result.missed)
	result.missed = slices.Compact(result.missed)
	return result, nil
})

// scan wraps the samples of a rule, and one in turn where the context is not
// plain: rules are many. One of a token counts as found when it is stopped for
// good, any other when its own rule finds it or it is held.
func (r *ruleResult) scan(s *scanner.Scanner, turn int, way corpus.Context, rule rules.Rule) error {
	plain := slices.Contains(plainContexts, way.Name)
	for seed := uint64(1); seed == 1 || plain && seed <= seeds; seed++ {
		values := rule.Samples(source("rule "+rule.ID, seed))
		if len(values) == 0 {
			r.missed = append(r.missed, rule.ID+" has no samples")
			continue
		}
		if !plain {
			values = values[turn%len(values):][:1]
		}
		for _, value := range values {
			value = strings.TrimRight(value, "\n")
			if way.OneLine && strings.Contains(value, "\n") {
				continue
			}
			findings, err := find(s, way.Wrap(value))
			if err != nil {
				return err
			}
			found := slices.ContainsFunc(findings, strict)
			if rule.TokenShaped() {
				r.byContext.add(way.Name, found)
				r.byRule.add(rule.ID, found)
			}
			found = found || slices.ContainsFunc(findings, func(f scanner.Finding) bool { return f.Rule == rule.ID || held(f) })
			if !found && plain {
				r.missed = append(r.missed, rule.ID+" in "+way.Name)
			}
		}
	}
	return nil
}

func TestRulesInContexts(t *testing.T) {
	result, err := scanRules()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rules of tokens in %d contexts\n%s", len(result.byRule.tried), len(result.byContext.tried), result.byContext.table("context", false))
	t.Logf("\n%s", result.byRule.table("rule", false))
	if got := result.byContext.percent(); got < wantRules {
		t.Errorf("%.2f %% of the tokens are found over all contexts, want %.0f %%", got, wantRules)
	}
	for _, missed := range result.missed {
		t.Errorf("%s", missed)
	}
}
