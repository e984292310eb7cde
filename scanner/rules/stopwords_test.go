package rules

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestStopWords finds what a search for each word finds.
func TestStopWords(t *testing.T) {
	t.Parallel()
	letters := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 4, -1)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(letters, 0, 6).Draw(t, "words")
		value := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 10, -1).Draw(t, "value")
		want := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(value, word) })
		if got := newStopWords(words).in(value); got != want {
			t.Errorf("%q in %q: %t, want %t", words, value, got, want)
		}
	})
}
