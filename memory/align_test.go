package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/memory"
)

// kept is how many lines of before a diff keeps.
func kept(before, after []string) int {
	removed := 0
	diff := memory.Unified("old", "new", text(before), text(after))
	for line := range strings.Lines(strings.TrimPrefix(diff, "--- old\n")) {
		if strings.HasPrefix(line, "-") {
			removed++
		}
	}
	return len(before) - removed
}

// longest is the length of the longest common subsequence, by the definition.
func longest(a, b []string) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

// TestAlignmentOfDistinctLines: where no line occurs twice, the anchors are the
// longest common subsequence.
func TestAlignmentOfDistinctLines(t *testing.T) {
	t.Parallel()
	words := strings.Split("abcdefghijkl", "")
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(words), 1, 12, rapid.ID[string]).Draw(t, label)
		}
		before, after := draw("before"), draw("after")
		if got, want := kept(before, after), longest(before, after); got != want {
			t.Fatalf("%d lines kept, want %d", got, want)
		}
	})
}

// TestAlignmentOfRepeatedLines: without anchors, it is the shortest edit.
func TestAlignmentOfRepeatedLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) []string {
			return rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 40).Draw(t, label)
		}
		before, after := draw("before"), draw("after")
		for hasAnchor(before, after) {
			before, after = append(before, "a", "b", "c", "y"), append(after, "a", "b", "c", "z")
		}
		if got, want := kept(before, after), longest(before, after); got != want {
			t.Fatalf("%d lines of %q kept in %q, want %d", got, before, after, want)
		}
	})
}

// hasAnchor reports whether a line occurs once in what differs of both texts.
func hasAnchor(a, b []string) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return slices.ContainsFunc(a, func(line string) bool { return times(a, line) == 1 && times(b, line) == 1 })
}

// TestMovedBlock moves more lines than a search for the shortest edit can bridge:
// the anchors find it.
func TestMovedBlock(t *testing.T) {
	t.Parallel()
	var base []string
	for i := range 20_000 {
		base = append(base, fmt.Sprintf("%x", i))
	}
	mine := slices.Concat(base[3000:], base[:3000])
	theirs := slices.Clone(base)
	theirs[12_000] = "edited"
	got, clean := memory.Merge(parse("a.md"), text(base), text(mine), text(theirs))
	mine[9000] = "edited"
	if !clean || got != text(mine) {
		t.Errorf("clean %t, %d bytes", clean, len(got))
	}
}
