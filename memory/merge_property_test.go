package memory_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/memory"
)

// edited draws a text made from lines by removing, changing, moving and adding
// some of them. Few different words make repeated lines likely.
func edited(t *rapid.T, from []string, label string, words []string) []string {
	out := slices.Clone(from)
	for range rapid.IntRange(0, 4).Draw(t, label+" edits") {
		at := rapid.IntRange(0, len(out)).Draw(t, label+" at")
		word := rapid.SampledFrom(words).Draw(t, label+" word")
		switch kind := rapid.SampledFrom([]string{"add", "change", "remove", "move"}).Draw(t, label+" kind"); {
		case kind == "add" || at == len(out):
			out = slices.Insert(out, at, word)
		case kind == "change":
			out[at] = word
		case kind == "remove":
			out = slices.Delete(out, at, at+1)
		default:
			line := out[at]
			out = slices.Delete(out, at, at+1)
			out = slices.Insert(out, rapid.IntRange(0, len(out)).Draw(t, label+" to"), line)
		}
	}
	return out
}

// files draws three texts, two of them made from the first.
func files(t *rapid.T, words []string) (base, mine, theirs string) {
	from := rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "base")
	return file(t, from, "base"), file(t, edited(t, from, "mine", words), "mine"), file(t, edited(t, from, "theirs", words), "theirs")
}

// file joins lines, now and then with CRLF or an unfinished last line.
func file(t *rapid.T, lines []string, label string) string {
	if len(lines) == 0 {
		return ""
	}
	eol := rapid.SampledFrom([]string{"\n", "\n", "\n", "\r\n"}).Draw(t, label+" eol")
	text := strings.Join(lines, eol)
	if rapid.Bool().Draw(t, label+" ended") {
		text += eol
	}
	return text
}

func fileLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	return lines
}

var plain = []string{"a", "b", "c", "d", "e", "f", "g", "h", "", "---"}

// TestMergeKeepsAndHonours states the promises of an ordinary merge.
func TestMergeKeepsAndHonours(t *testing.T) {
	t.Parallel()
	key := parse("a.md")
	rapid.Check(t, func(t *rapid.T) {
		base, mine, theirs := files(t, plain)
		b, m, s := fileLines(base), fileLines(mine), fileLines(theirs)
		got, clean := memory.Merge(key, base, mine, theirs)
		if back, also := memory.Merge(key, base, theirs, mine); back != got || also != clean {
			t.Fatalf("merged the other way round: %q, %t and %q, %t", got, clean, back, also)
		}
		if one, clean := memory.Merge(key, base, mine, base); one != mine || !clean {
			t.Fatalf("a merge with the base is %q, %t", one, clean)
		}
		if !clean {
			if got != "" {
				t.Fatalf("a merge that is not clean has the text %q", got)
			}
			return
		}
		lines := fileLines(got)
		for _, side := range [][]string{m, s} {
			for _, line := range side {
				if !slices.Contains(b, line) && !slices.Contains(lines, line) {
					t.Fatalf("the added line %q is not in %q", line, got)
				}
			}
		}
		if strings.Contains(base+mine+theirs, "\r") {
			return // a line whose end was changed was removed and added
		}
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

func times(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
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

func text(parts ...[]string) string { return strings.Join(slices.Concat(parts...), "\n") + "\n" }

// TestMarkedHasBothSides proves that whoever chooses by hand sees everything.
func TestMarkedHasBothSides(t *testing.T) {
	t.Parallel()
	key := parse("a.md")
	rapid.Check(t, func(t *rapid.T) {
		base, mine, theirs := files(t, plain)
		b, m, s := fileLines(base), fileLines(mine), fileLines(theirs)
		got := memory.Marked(base, mine, theirs)
		merged, clean := memory.Merge(key, base, mine, theirs)
		if clean && base != mine && base != theirs && mine != theirs && got != merged {
			t.Fatalf("without overlaps %q, merged %q", got, merged)
		}
		if marks := strings.Contains(got, "<<<<<<< saved copy"); marks == clean {
			t.Fatalf("clean %t, marked %q", clean, got)
		}
		lines := fileLines(got)
		for _, line := range slices.Concat(m, s) {
			if !slices.Contains(b, line) && !slices.Contains(lines, line) {
				t.Fatalf("%q is not in %q", line, got)
			}
		}
	})
}
