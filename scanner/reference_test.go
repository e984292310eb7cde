package scanner_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner"
	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
)

// reference is gitleaks' own detector over gitleaks' own rules, with no
// exception that depends on a place and none for common words.
func reference(tb testing.TB) *detect.Detector {
	tb.Helper()
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		tb.Fatal(err)
	}
	detector.Config.Allowlists = nil
	for id, rule := range detector.Config.Rules {
		rule.Allowlists = slices.DeleteFunc(slices.Clone(rule.Allowlists), func(a *config.Allowlist) bool {
			return len(a.Regexes) == 0 && len(a.StopWords) == 0
		})
		detector.Config.Rules[id] = rule
	}
	detector.IgnoreGitleaksAllow = true
	detector.MaxDecodeDepth = 2
	return detector
}

// seenBy returns what the reference finds in the block tiers: rule and line.
func seenBy(detector *detect.Detector, text string) map[string][]string {
	seen := make(map[string][]string)
	for _, f := range detector.DetectString(text) {
		if rules.TierOf(f.RuleID).Holds() {
			seen[f.RuleID] = append(seen[f.RuleID], f.Secret)
		}
	}
	return seen
}

// setting draws a text around a value, of the kind in which the reference sees
// values and of the kind in which it does not.
func setting(t *rapid.T, value string) string {
	before := rapid.SampledFrom([]string{
		"", "the key is ", "token: ", "export X=\"", "x='", "| a | ", "- `", "(", "日本語", "**", "{\"k\": \"", "?key=", "key=", "\t", "Bearer ", "x_", "a",
	}).Draw(t, "before")
	after := rapid.SampledFrom([]string{
		"", "\n", " then", "\"\n", "'", " |", "`", ")", ".", ", and", "**", "\"}", "&x=1", "\\n", ";", "_", "x", "\r\n",
	}).Draw(t, "after")
	return before + value + after
}

// mutate changes some bytes of a value.
func mutate(t *rapid.T, value string) string {
	changed := []byte(value)
	for range rapid.IntRange(0, 2).Draw(t, "changes") {
		at := rapid.IntRange(0, len(changed)-1).Draw(t, "at")
		changed[at] = rapid.SampledFrom([]byte("aZ0 -_.=/+\n\"'")).Draw(t, "to")
	}
	return string(changed)
}

// TestFindsWhatTheReferenceFinds is the promise that our matcher loses nothing:
// whatever gitleaks' detector finds by a rule of a block tier, ours finds by the
// same rule, or by a stricter one at the same line.
func TestFindsWhatTheReferenceFinds(t *testing.T) {
	detector := reference(t)
	theirs := make(map[string]rules.Rule)
	for _, r := range rules.All() {
		if _, ok := detector.Config.Rules[r.ID]; ok && r.Tier.Holds() {
			theirs[r.ID] = r
		}
	}
	ids := slices.Sorted(maps.Keys(theirs))
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "values") {
			rule := theirs[rapid.SampledFrom(ids).Draw(t, "rule")]
			made := rule.Samples(samples.NewSource(rapid.Uint64Range(1, 1<<20).Draw(t, "seed"), rule.ID))
			value := rapid.SampledFrom(made).Draw(t, "sample")
			text.WriteString(setting(t, mutate(t, value)) + rapid.SampledFrom([]string{"\n", "\n\n", " "}).Draw(t, "between"))
		}
		findings, err := shared.Scan(t.Context(), "", text.String())
		if err != nil {
			t.Fatal(err)
		}
		for id, secrets := range seenBy(detector, text.String()) {
			compared += len(secrets)
			if !covered(findings, id, text.String(), secrets) {
				t.Errorf("%s: gitleaks finds %d, we do not, in a text of %d bytes: %s", id, len(secrets), text.Len(), ruleNames(findings))
			}
		}
	})
	if compared == 0 {
		t.Error("the reference found nothing")
	}
	t.Logf("%d findings of the reference compared", compared)
}

// covered reports whether every place that the reference found is one of ours.
func covered(findings []scanner.Finding, id, text string, secrets []string) bool {
	return !slices.ContainsFunc(secrets, func(secret string) bool {
		at := strings.Index(text, secret)
		return !slices.ContainsFunc(findings, func(f scanner.Finding) bool {
			if f.Rule != id && strictness(f.Tier) > strictness(rules.TierOf(id)) {
				return false
			}
			if at < 0 {
				return f.Rule == id // decoded: its place is that of the code
			}
			start, end := f.Span()
			return start < at+len(secret) && end > at
		})
	})
}

func strictness(t scanner.Tier) int {
	return slices.Index([]scanner.Tier{scanner.Block1, scanner.Block2, scanner.Block3, scanner.Warn}, t)
}

func ruleNames(findings []scanner.Finding) string {
	names := make(map[string]int)
	for _, f := range findings {
		names[f.Rule]++
	}
	return fmt.Sprint(slices.Sorted(maps.Keys(names)))
}
