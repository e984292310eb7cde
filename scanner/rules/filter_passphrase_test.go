package rules_test

import (
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/rules"
	"github.com/teammem/teammemd/scanner/samples"
)

func TestPassphraseWords(t *testing.T) {
	judge(t, rules.PassphraseWords, true, "velvet-pelican-thistle-42", "velvet.pelican.41.thistle", "Mistral-Quartz7-saffron", "velvet-pelican-thistle-drizzle-ember", "velvet pelican 41 thistle")
	judge(
		t, rules.PassphraseWords, false,
		"velvet-pelican-thistle", "staging-db-password-42", "my-secret-key-for-test-1", "ask-the-team-on-slack", "app-config-values-2", "rotate-every-90-days",
		"correct-horse-battery"+"-staple", "docs/velvet-pelican-thistle-4.md", "velvet-42", "1-2-3-4-5-6-7-8-9", "kestrel-cluster-node-12",
	)
}

func TestVivid(t *testing.T) {
	judge(t, rules.Vivid, true, "Granite-falcon"+"!482", "velvet_Otter"+"@2218", "!Tiger82"+"Birch!z", "x6L1W1l4"+"MboA")
	judge(
		t, rules.Vivid, false,
		"RFC4226", "IPv4Address22", "bill.smith42@acme.io", "User12", "password1!", "Build2024#12 (a)", "/api/V2/users/42", "windows11", "a-name-of-2-Things", "P@ssw0rd"+"12",
	)
}

func TestLettersThatAreNoWords(t *testing.T) {
	judge(t, rules.MostlyUnpronounced, true, "egcyqxwf"+"ppoyvhgl")
	judge(t, rules.MostlyUnpronounced, false, "applicationnames", "requiredpassword", strings.Repeat("ab", 8))
	judge(t, rules.MixedGroups, true, "xkEJ t3Om 2k2m rqnj TUpZ eHzq")
	judge(t, rules.MixedGroups, false, "this text only goes with some", "1234 5678 9012")
}

func TestRandom12(t *testing.T) {
	judge(t, rules.Random12, true, "8kQz1vRt"+"Ym3x", drawn("r12", samples.Alnum, 40))
	judge(t, rules.Random12, false, "shortA1", "someName2Use", "configuration", "see-1password-2")
}

// TestUnmarkedValues sees that a sign before a password is no variable, colour
// or comment, and that it is one where nothing else speaks for a password.
func TestUnmarkedValues(t *testing.T) {
	judge(t, rules.StrongWord, true, "#Birch04"+"Banjo#z", "$Galaxy95"+"Waffle!z")
	judge(t, rules.StrongWord, false, "$request2", "#section-12A", "$DbPassword12", "&anchor_12X", "$this->pass12X!")
}
