package scanner

import (
	"context"

	"github.com/zricethezav/gitleaks/v8/report"
)

// WithDetector makes s see what before does to every text instead of, or
// before, the detector: it runs first, and the detector only when it returns
// true.
func (s *Scanner) WithDetector(before func(ctx context.Context, text string) bool) *Scanner {
	s.detect = func(ctx context.Context, rules *ruleSet, text string) []report.Finding {
		if !before(ctx, text) {
			return nil
		}
		return detectWithGitleaks(ctx, rules, text)
	}
	return s
}

// Pattern is what a loaded rule consists of.
type Pattern struct {
	Regex, Path string
	Entropy     float64
	Group       int
	Keywords    []string
}

// Patterns returns the loaded rules by id.
func Patterns() (map[string]Pattern, error) {
	rules, err := loaded()
	if err != nil {
		return nil, err
	}
	patterns := make(map[string]Pattern)
	for id, rule := range rules.detector.Config.Rules {
		patterns[id] = Pattern{pattern(rule.Regex), pattern(rule.Path), rule.Entropy, rule.SecretGroup, rule.Keywords}
	}
	return patterns, nil
}

// Exceptions returns how many exceptions the loaded rules have: global ones,
// and ones that depend on a name or a commit.
func Exceptions() (global, placed int, err error) {
	rules, err := loaded()
	if err != nil {
		return 0, 0, err
	}
	for _, rule := range rules.detector.Config.Rules {
		for _, list := range rule.Allowlists {
			placed += len(list.Paths) + len(list.Commits)
		}
	}
	return len(rules.detector.Config.Allowlists), placed, nil
}

// Load builds the rule set anew.
func Load() error {
	_, err := loadRules()
	return err
}

// LoadedVersion builds the rule set anew and returns its version.
func LoadedVersion() (string, error) {
	rules, err := loadRules()
	if err != nil {
		return "", err
	}
	return rules.version, nil
}

// ReasonOf returns what a person sees for a rule.
func ReasonOf(rule string) string { return reasonOf(rule) }

// Answer runs one worker to its end in ctx and returns what it hands back.
func (s *Scanner) Answer(ctx context.Context, text string) ([]Finding, error) {
	rules, err := loaded()
	if err != nil {
		return nil, err
	}
	got := s.work(ctx, rules, "", text)
	if got.refusal != nil {
		return nil, got.refusal
	}
	return got.findings, nil
}
