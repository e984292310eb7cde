package rules_test

import (
	"testing"

	"github.com/pelletier/go-toml/v2"
	"github.com/zricethezav/gitleaks/v8/config"

	"github.com/teammem/teammemd/scanner/rules"
)

// stockIDs returns the ids of gitleaks' rules.
func stockIDs(t *testing.T) []string {
	t.Helper()
	var raw config.ViperConfig
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &raw); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(raw.Rules))
	for i, r := range raw.Rules {
		ids[i] = r.ID
	}
	return ids
}

func TestWordsForEveryStockRule(t *testing.T) {
	ids := stockIDs(t)
	if len(ids) != 222 || len(rules.WordIDs()) != len(ids) {
		t.Errorf("gitleaks has %d rules, we have words for %d; want 222", len(ids), len(rules.WordIDs()))
	}
	for _, id := range ids {
		title, reason := rules.Words(id)
		if title == "" || title[len(title)-1] == '.' {
			t.Errorf("%s: title %q", id, title)
		}
		checkReason(t, reason)
	}
	if title, reason := rules.Words("no-such-rule"); title != "" || reason != "" {
		t.Errorf("words for a rule that is none: %q, %q", title, reason)
	}
}

func TestTiersNameStockRulesOnly(t *testing.T) {
	known := map[string]bool{}
	for _, id := range stockIDs(t) {
		known[id] = true
	}
	for _, id := range rules.TierIDs() {
		if !known[id] {
			t.Errorf("a tier for %q, which is no rule of gitleaks", id)
		}
	}
	for id, want := range map[string]rules.Tier{
		"github-pat": rules.Block1, "heroku-api-key": rules.Block1, "private-key": rules.Block2, "jwt": rules.Block2,
		"travisci-access-token": rules.Block3, "generic-api-key": rules.Warn, "sourcegraph-access-token": rules.Warn,
		"plaid-client-id": rules.Warn, "no-such-rule": rules.Block1,
	} {
		if got := rules.TierOf(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}
