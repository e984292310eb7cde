package claude_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/teammem/teammemd/agents/claude"
)

// TestNamesHaveOneCharacterForEachUnit checks the rule itself on any path.
func TestNamesHaveOneCharacterForEachUnit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := "/" + rapid.StringN(1, 60, 120).Draw(t, "root")
		loc, err := claude.MemoryDir(claude.Place{
			Getenv: func(string) string { return "" }, Home: "/nowhere/at/all", CanonicalRoot: root, PolicyFiles: []string{},
		})
		units := utf16.Encode([]rune(norm.NFC.String(root)))
		if len(units) > 200 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(loc.Dir))
		if len(name) != len(units) {
			t.Fatalf("%q has %d units, its name %d", root, len(units), len(name))
		}
		for i, unit := range units {
			plain := unit < 0x80 && strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", rune(unit))
			if want := map[bool]byte{true: byte(unit), false: '-'}[plain]; name[i] != want {
				t.Fatalf("%q: unit %d became %q", root, i, name[i])
			}
		}
		seen := map[string]bool{}
		for _, c := range loc.Candidates {
			if seen[c.Dir] {
				t.Fatalf("the candidate %s comes twice", c.Dir)
			}
			seen[c.Dir] = true
		}
	})
}
