package view_test

import (
	"strings"
	"testing"

	"github.com/teammem/teammemd/scanner/samples"
	"github.com/teammem/teammemd/scanner/view"
)

// unsure are distortions that a token's own underscores can hide, or a column
// that looks more random.
var unsure = map[string]bool{
	"bold underscores": true, "italic underscores": true, "half in italics": true, "wrap in cells beside others": true,
}

// TestEveryFamilyIsFoundWhereverItIsBroken distorts a sample of each family,
// whatever its alphabet.
func TestEveryFamilyIsFoundWhereverItIsBroken(t *testing.T) {
	t.Parallel()
	for number, family := range samples.Families() {
		token := family.Sample()
		if strings.Contains(token, "\n") {
			continue
		}
		for _, test := range distortions {
			if unsure[test.name] {
				continue
			}
			for at := 1 + number%3; at < len(token); at += 3 {
				written := strings.NewReplacer("H", token[:at], "T", token[at:]).Replace(test.text)
				raw := "Prose.\n\n" + written + "\n\nNext."
				if len(spans(view.Variants(view.Of(raw)), token)) == 0 {
					t.Errorf("%s, %s at %d: not found", family.Rule, test.name, at)
				}
			}
		}
	}
}
