package pattern_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/scanner/pattern"
)

func TestLongestRun(t *testing.T) {
	tests := []struct {
		pattern, text string
		found, in     bool
	}{
		{`key [a-z]{12,40}`, "key abcdefghijkl", true, true},
		{`key [a-z]{12,40}`, "key abcdefghijk lmnopqrstuvw", true, false},
		{`key [a-z]{12,40}`, "key  abcdefghijkl", true, false},
		{`key .{0,3}[a-z]{12,40}`, "key 日本語abcdefghijkl", true, true},
		{`key .{0,3}[a-z]{12,40}`, "key 日本語.abcdefghijkl", true, false},
		{`key [^ ]{12,40}`, "key 日本語日", true, true},
		{`key (?:[a-z]{12}|no)`, "key no", false, false},
		{`key (?:[a-z]{12})?`, "key", false, false},
		{`key [a-z]{11}`, "key abcdefghijk", false, false},
	}
	for _, tt := range tests {
		parsed, err := pattern.Parse(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		run, found := parsed.LongestRun(12)
		if found != tt.found {
			t.Errorf("%s has a run: %t, want %t", tt.pattern, found, tt.found)
			continue
		}
		if found && run.In(tt.text) != tt.in {
			t.Errorf("%s in %q: %t, want %t", tt.pattern, tt.text, !tt.in, tt.in)
		}
	}
}

// What matches holds the run: looking for it first loses nothing.
func TestLongestRunIsInEveryMatch(t *testing.T) {
	const source = `^ab[ é]{0,3}(?:c|dé){1,2}x?([a-cé]{12,20})`
	parsed, err := pattern.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	run, _ := parsed.LongestRun(12)
	matches := regexp.MustCompile(source)
	rapid.Check(t, func(t *rapid.T) {
		text := "ab" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{" ", "é", "c", "dé", "x", "a", "b", "aaaaaaaaaaa", "abcabcabcabc"}), 0, 9).Draw(t, "parts"), "")
		if matches.MatchString(text) && !run.In(text) {
			t.Fatalf("%q matches and is said to hold no run", text)
		}
	})
}
