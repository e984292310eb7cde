package rules

import (
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/teammem/teammemd/scanner/pattern"
)

// gitleaksRules is the SHA-256 of the rules in gitleaks v8.30.1. Others are not
// loaded: what is made of these here was written for them and measured on them.
const gitleaksRules = "e163e53b9e7e8a8511e77271e2b323ed057759542a6d988258afe3a1fa329caf"

// theirs is one of gitleaks' rules as the library carries it.
type theirs struct {
	ID          string
	Regex       string
	SecretGroup int
	Entropy     float64
	Keywords    []string
	Allowlists  []exception
}

// stock reads the rules that gitleaks' library carries, not through its
// constructor, which keeps them in a global registry and compiles them all.
func stock() ([]theirs, error) {
	sum := sha256.Sum256([]byte(config.DefaultConfig))
	if got := hexadecimal.EncodeToString(sum[:]); got != gitleaksRules {
		return nil, fmt.Errorf("gitleaks' rules are not those of v8.30.1: their SHA-256 is %s", got)
	}
	var file struct{ Rules []theirs }
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		return nil, fmt.Errorf("reading gitleaks' rules: %w", err)
	}
	slices.SortFunc(file.Rules, func(a, b theirs) int { return strings.Compare(a.ID, b.ID) })
	return file.Rules, nil
}

// gitleaks returns gitleaks' rules, sorted by id, without those that are
// dropped.
func gitleaks() ([]Rule, error) {
	all, err := stock()
	if err != nil {
		return nil, err
	}
	var out []Rule
	for _, t := range all {
		if _, ok := dropped[t.ID]; ok {
			continue
		}
		rule, err := t.adopt()
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", t.ID, err)
		}
		out = append(out, rule)
	}
	return out, nil
}

// adopt makes one of gitleaks' rules ours.
func (t theirs) adopt() (Rule, error) {
	rule := Rule{
		ID: t.ID, Tier: TierOf(t.ID), Pattern: t.Regex, Group: t.SecretGroup, Entropy: t.Entropy,
		Keywords: lowered(t.Keywords), Filters: filtersOf(t.ID, t.Allowlists),
	}
	rule.Title, rule.Reason = Words(t.ID)
	if change, ok := amended[t.ID]; ok {
		change(&rule)
	}
	return rule, loosen(&rule)
}

func lowered(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = strings.ToLower(word)
	}
	slices.Sort(out)
	return out
}

// The pieces from which gitleaks makes most of its patterns.
const (
	// theirEnd is what they accept after a token. A full stop, a bracket or an
	// asterisk is not among it.
	theirEnd = `(?:[\x60'"\s;]|\\[nr]|$)`
	// theirLead takes the rest of an identifier before a vendor's name. It adds
	// nothing to the secret, and much to the cost.
	theirLead = `[\w.-]{0,50}?`
	// theirOperator stands between a label and its value.
	theirOperator = `(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)`
)

// loosen makes a pattern find its token in prose as well.
func loosen(rule *Rule) error {
	rule.Pattern = strings.ReplaceAll(rule.Pattern, theirLead, "")
	core, bounded := trimBoundaries(rule.Pattern)
	parsed, err := pattern.Parse(core)
	if err != nil {
		return err
	}
	if bounded && parsed.Solid() && !strings.Contains(core, theirEnd) {
		rule.Pattern = core
		if rule.Alphabet == "" {
			rule.Alphabet = parsed.Characters().Class()
		}
		return nil
	}
	if !strings.Contains(rule.Pattern, theirEnd) {
		return nil
	}
	class, err := valueClass(rule.Pattern)
	if err != nil {
		return err
	}
	rule.Pattern = strings.ReplaceAll(rule.Pattern, theirEnd, Terminator(class))
	return nil
}

// trimBoundaries takes off what a pattern asks of the characters around a token.
func trimBoundaries(expression string) (core string, bounded bool) {
	core = expression
	for _, end := range []string{theirEnd, `(?:[\x60'"\s;]|\\[nr]|$|\b)`, `\b`} {
		if trimmed, ok := strings.CutSuffix(core, end); ok {
			core, bounded = trimmed, true
			break
		}
	}
	flags, rest := "", core
	if after, ok := strings.CutPrefix(core, "(?i)"); ok {
		flags, rest = "(?i)", after
	}
	if after, ok := strings.CutPrefix(rest, `\b`); ok {
		core, bounded = flags+after, true
	}
	return core, bounded
}

// valueClass returns the characters of the values that the groups of a pattern
// capture.
func valueClass(expression string) (string, error) {
	parsed, err := pattern.Parse(expression)
	if err != nil {
		return "", err
	}
	var all pattern.Set
	for n := 1; ; n++ {
		group, ok := parsed.Group(n)
		if !ok {
			return all.Class(), nil
		}
		for c, in := range group.Characters() {
			all[c] = all[c] || in
		}
	}
}

// Terminator returns what must follow a token whose characters are those of
// class, the inside of a character class: the end, a character that neither
// belongs to the token nor to a longer word, or punctuation that belongs to the
// sentence, since no character of the token follows it.
func Terminator(class string) string {
	return `(?:$|[^\w.:` + class + `]|[.:_=/+~-]{1,3}(?:[^\w.:` + class + `]|$)|\\[nrt"]|[\x60'"\s;])`
}
