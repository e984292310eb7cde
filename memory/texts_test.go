package memory_test

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/teammem/teammemd/api"
	"github.com/teammem/teammemd/memory"
)

// parse is ParseKey for names that are known to be right.
func parse(name string) api.Key {
	key, err := api.ParseKey(name)
	if err != nil {
		panic(err)
	}
	return key
}

// lines makes a text of one line for each word.
func lines(words string) string {
	if words == "" {
		return ""
	}
	return strings.ReplaceAll(words, " ", "\n") + "\n"
}

func text(parts ...[]string) string { return strings.Join(slices.Concat(parts...), "\n") + "\n" }

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

func times(lines []string, line string) int {
	n := 0
	for _, l := range lines {
		if l == line {
			n++
		}
	}
	return n
}

// plain are the lines of drawn notes.
var plain = []string{"a", "b", "c", "d", "e", "f", "g", "h", "", "---"}

// sides are three texts as a merge gets them.
type sides struct{ base, mine, theirs string }

// drawSides draws three texts, two of them made from the first.
func drawSides(t *rapid.T, words []string) sides {
	from := rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "base")
	return sides{file(t, from, "base"), file(t, edited(t, from, "mine", words), "mine"), file(t, edited(t, from, "theirs", words), "theirs")}
}

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

// lines are the lines of each text.
func (s sides) lines() (base, mine, theirs []string) {
	return fileLines(s.base), fileLines(s.mine), fileLines(s.theirs)
}

// mergeNote merges as a note, and proves what follows from the texts alone:
// neither side comes first, and a side that is as the base changes nothing.
func (s sides) mergeNote(t rapid.TB) (got string, clean bool) {
	t.Helper()
	key := parse("a.md")
	got, clean = memory.Merge(key, s.base, s.mine, s.theirs)
	if back, also := memory.Merge(key, s.base, s.theirs, s.mine); back != got || also != clean {
		t.Fatalf("merged the other way round: %q, %t and %q, %t", got, clean, back, also)
	}
	s.mustKeepMine(t, key)
	return got, clean
}

// mergeIndex is the same for an index, whose merge is always clean and orders its
// lines by the server's side.
func (s sides) mergeIndex(t rapid.TB, name string) string {
	t.Helper()
	key := parse(name)
	got, clean := memory.Merge(key, s.base, s.mine, s.theirs)
	if !clean {
		t.Fatal("an index does not merge")
	}
	s.mustKeepMine(t, key)
	return got
}

func (s sides) mustKeepMine(t rapid.TB, key api.Key) {
	t.Helper()
	if one, clean := memory.Merge(key, s.base, s.mine, s.base); one != s.mine || !clean {
		t.Fatalf("a merge with the base is %q, %t", one, clean)
	}
}

// mustHaveAdded looks for each line that a side added.
func (s sides) mustHaveAdded(t rapid.TB, got string) {
	t.Helper()
	base, mine, theirs := s.lines()
	merged := fileLines(got)
	for _, line := range slices.Concat(mine, theirs) {
		if !slices.Contains(base, line) && !slices.Contains(merged, line) {
			t.Fatalf("the added line %q is not in %q", line, got)
		}
	}
}
