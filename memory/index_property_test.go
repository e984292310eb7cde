package memory_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/memory"
)

var indexWords = []string{
	"- [a](a.md)", "- [b](b.md)", "- [c](c.md)", "- [d](d.md)", "- [e](e.md)", "- [f](f.md)", "1. first",
	"  - see [a](a.md)", "# Index", "## One", "## Two", "### Links", "Some prose.", "", "", "---",
}

// TestIndexKeepsAndHonours states the promises of the merge of an index, from the
// lines of the three texts alone.
func TestIndexKeepsAndHonours(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		three := drawSides(t, indexWords)
		base, mine, theirs := three.base, three.mine, three.theirs
		got := three.mergeIndex(t, "notes/MEMORY.md")
		back := sides{base, theirs, mine}.mergeIndex(t, "notes/MEMORY.md")
		if !slices.Equal(sorted(got), sorted(back)) {
			t.Fatalf("merged the other way round: %q and %q", got, back)
		}
		if mine == theirs || mine == base || theirs == base {
			return
		}
		b, m, s := three.lines()
		lines := fileLines(got)
		for _, line := range slices.Concat(b, m, s) {
			if line != "" {
				checkMember(t, line, b, m, s, lines)
			}
		}
	})
}

// checkMember compares one line of a result with what the set says.
func checkMember(t *rapid.T, line string, b, m, s, got []string) {
	there := slices.Contains(got, line)
	inB, inM, inS := slices.Contains(b, line), slices.Contains(m, line), slices.Contains(s, line)
	switch {
	case !inB && !there:
		t.Fatalf("the added line %q is not in %q", line, got)
	case inB && (!inM || !inS) && times(b, line) <= 1 && times(m, line) <= 1 && times(s, line) <= 1 && there:
		t.Fatalf("the removed line %q is in %q", line, got)
	case inB && inM && inS && strings.HasPrefix(line, "- ") && !there:
		t.Fatalf("the entry %q, which all have, is not in %q", line, got)
	case strings.HasPrefix(line, "- ") && times(got, line) > max(1, times(s, line)):
		t.Fatalf("the entry %q is in %q too often", line, got)
	}
}

// sorted is the set of lines that are not blank.
func sorted(text string) []string {
	lines := slices.DeleteFunc(fileLines(text), func(line string) bool { return line == "" })
	slices.Sort(lines)
	return slices.Compact(lines)
}

// TestUnionKeepsAll is the merge of an index without a base.
func TestUnionKeepsAll(t *testing.T) {
	t.Parallel()
	key := parse("MEMORY.md")
	rapid.Check(t, func(t *rapid.T) {
		three := drawSides(t, indexWords)
		mine, theirs := three.mine, three.theirs
		got, clean := memory.MergeWithoutBase(key, mine, theirs)
		if want := sorted(mine + "\n" + theirs); !clean || !slices.Equal(sorted(got), want) {
			t.Fatalf("clean %t, %q of %q and %q", clean, got, mine, theirs)
		}
	})
}

// TestOrderOfTheServer proves that the lines of theirs keep their order, and that
// no blank lines pile up.
func TestOrderOfTheServer(t *testing.T) {
	t.Parallel()
	key := parse("MEMORY.md")
	rapid.Check(t, func(t *rapid.T) {
		entries := indexWords[:6]
		draw := func(label string) []string {
			return rapid.SliceOfNDistinct(rapid.SampledFrom(entries), 0, 6, rapid.ID[string]).Draw(t, label)
		}
		base, mine, theirs := draw("base"), draw("mine"), draw("theirs")
		if slices.Equal(base, theirs) {
			return // the order is then that of mine
		}
		spread := func(lines []string) string { return "# Index\n\n" + strings.Join(append(lines, ""), "\n") }
		got, _ := memory.Merge(key, spread(base), spread(mine), spread(theirs))
		kept := slices.DeleteFunc(fileLines(got), func(line string) bool { return !slices.Contains(theirs, line) })
		want := slices.DeleteFunc(slices.Clone(theirs), func(line string) bool { return !slices.Contains(kept, line) })
		if !slices.Equal(kept, want) {
			t.Fatalf("order %q, want %q", kept, want)
		}
		if strings.Contains(got, "- ") && !strings.HasPrefix(got, "# Index\n\n- ") || strings.Count(got, "\n\n") > 1 {
			t.Fatalf("blank lines of %q", got)
		}
	})
}
