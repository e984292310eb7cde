package memory_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/memory"
)

// TestMergeKeepsAndHonours states the promises of an ordinary merge.
func TestMergeKeepsAndHonours(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		three := drawSides(t, plain)
		got, clean := three.mergeNote(t)
		if !clean {
			if got != "" {
				t.Fatalf("a merge that is not clean has the text %q", got)
			}
			return
		}
		three.mustHaveAdded(t, got)
		if strings.Contains(three.base+three.mine+three.theirs, "\r") {
			return // a line whose end was changed was removed and added
		}
		b, m, s := three.lines()
		lines := fileLines(got)
		for _, line := range b {
			if (removed(b, m, s, line) || removed(b, s, m, line)) && slices.Contains(lines, line) {
				t.Fatalf("the removed line %q is in %q", line, got)
			}
		}
	})
}

// removed reports whether one side plainly removed a line, and the other left it
// alone: with other neighbours it may have been moved, which is an addition too.
func removed(base, by, other []string, line string) bool {
	if times(base, line) != 1 || times(by, line) != 0 || times(other, line) != 1 {
		return false
	}
	return slices.Equal(around(base, line), around(other, line))
}

func around(lines []string, line string) []string {
	i := slices.Index(lines, line)
	return lines[max(0, i-1):min(len(lines), i+2)]
}

// TestDisjointEditsAreClean builds edits that cannot overlap: a line that nobody
// touches stands between any two.
func TestDisjointEditsAreClean(t *testing.T) {
	t.Parallel()
	key := parse("a.md")
	rapid.Check(t, func(t *rapid.T) {
		var base, mine, theirs, want []string
		kinds := rapid.SliceOfN(rapid.IntRange(0, 6), 1, 30).Draw(t, "kinds")
		for i, kind := range kinds {
			fixed := "fixed " + string(rune('A'+i))
			old, now := "old "+string(rune('A'+i)), "new "+string(rune('A'+i))
			base, mine, theirs, want = append(base, fixed), append(mine, fixed), append(theirs, fixed), append(want, fixed)
			switch kind {
			case 0: // mine changes
				base, mine, theirs, want = append(base, old), append(mine, now), append(theirs, old), append(want, now)
			case 1: // theirs changes
				base, mine, theirs, want = append(base, old), append(mine, old), append(theirs, now), append(want, now)
			case 2: // mine removes
				base, theirs = append(base, old), append(theirs, old)
			case 3: // theirs removes
				base, mine = append(base, old), append(mine, old)
			case 4: // mine adds
				mine, want = append(mine, now), append(want, now)
			case 5: // theirs adds
				theirs, want = append(theirs, now), append(want, now)
			case 6: // both do the same
				base, mine, theirs, want = append(base, old), append(mine, now), append(theirs, now), append(want, now)
			}
		}
		end := []string{"end"}
		got, clean := memory.Merge(key, text(base, end), text(mine, end), text(theirs, end))
		if !clean || got != text(want, end) {
			t.Fatalf("clean %t, got %q, want %q", clean, got, text(want, end))
		}
	})
}

// TestMarkedHasBothSides proves that whoever chooses by hand sees everything.
func TestMarkedHasBothSides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		three := drawSides(t, plain)
		base, mine, theirs := three.base, three.mine, three.theirs
		got := memory.Marked(base, mine, theirs)
		merged, clean := three.mergeNote(t)
		if clean && base != mine && base != theirs && mine != theirs && got != merged {
			t.Fatalf("without overlaps %q, merged %q", got, merged)
		}
		if marks := strings.Contains(got, "<<<<<<< saved copy"); marks == clean {
			t.Fatalf("clean %t, marked %q", clean, got)
		}
		three.mustHaveAdded(t, got)
	})
}
