package rules_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/rules"
)

var update = flag.Bool("update", false, "write docs/rules.md anew")

// tierDocs says what each tier does, in the order of the document.
var tierDocs = []struct {
	tier        rules.Tier
	title, text string
}{
	{
		rules.Block1, "Tokens of one vendor",
		"Tier `block1`: the shape of one vendor's token, alone or beside the vendor's name. The file is held, and only a team policy can let it pass.",
	},
	{
		rules.Block2, "Structures",
		"Tier `block2`: what stands around the secret tells it. The file is held, and only a team policy can let it pass.",
	},
	{
		rules.Block3, "Guesses",
		"Tier `block3`: a label and a value that looks random. The file is held, and a person can let it pass.",
	},
	{
		rules.Warn, "Warnings",
		"Tier `warn`: what opens nothing alone, is meant to be seen, or is seldom a secret. The file goes up, marked.",
	},
}

// TestRulesTable wants docs/rules.md to list the rules of this build:
//
//	go test ./scanner/rules -run TestRulesTable -update
func TestRulesTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "rules.md")
	want := table(rules.All())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/rules.md does not list the rules of this build: run go test ./scanner/rules -run TestRulesTable -update")
	}
}

// table returns the document, without the version of the set: that changes with
// patterns, too.
func table(all []rules.Rule) string {
	byTier := map[rules.Tier][]rules.Rule{}
	for _, r := range all {
		byTier[r.Tier] = append(byTier[r.Tier], r)
	}
	var out strings.Builder
	fmt.Fprintf(&out, `# Rules

What the secret scanner looks for, in notes, their names and their properties: %d rules. Those whose ids begin with `+"`tm-`"+` are our own, the others come from gitleaks v8.30.1 and were made fit for prose. A finding shows the id and the sentence below, never the secret.

This file is made from the rules by `+"`go test ./scanner/rules -run TestRulesTable -update`"+`.
`, len(all))
	listed := 0
	for _, tier := range tierDocs {
		list := byTier[tier.tier]
		listed += len(list)
		fmt.Fprintf(&out, "\n## %s\n\n%s %d rules.\n\n| rule | what it finds | what that opens |\n|---|---|---|\n", tier.title, tier.text, len(list))
		for _, r := range list {
			fmt.Fprintf(&out, "| `%s` | %s | %s |\n", r.ID, cell(r.Title), cell(r.Reason))
		}
	}
	if listed != len(all) {
		fmt.Fprintf(&out, "\n%d rules are of no tier that is known.\n", len(all)-listed)
	}
	return out.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
