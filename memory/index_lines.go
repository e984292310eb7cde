package memory

import "strings"

// item is a line of an index that is not blank.
type item struct {
	raw string // as it stands in its text
	// length is that of the line without white space at its end: two lines that
	// agree so far are the same.
	length int32
	blanks int32 // blank lines before it
	id     int32 // the same for the same member of the set in all three texts
}

func (it item) line() string { return it.raw[:it.length] }

// index is a text as a set of lines in order.
type index struct {
	items    []item
	trailing int32  // blank lines at the end
	cr       string // "\r" where lines end in CRLF
	ended    bool
	// fromBase are the runs of lines that base has as well; see identify.
	fromBase []span
}

func parseIndex(s string) index {
	t := split(s)
	x := index{ended: t.ended}
	if hasCR(t.lines) {
		x.cr = "\r"
	}
	x.items = make([]item, 0, len(t.lines))
	for _, raw := range t.lines {
		line := strings.TrimRight(strings.TrimSuffix(raw, "\r"), " \t")
		if line == "" {
			x.trailing++
			continue
		}
		x.items = append(x.items, item{raw: raw, length: int32(len(line)), blanks: x.trailing})
		x.trailing = 0
	}
	return x
}

func (x index) end() text { return text{ended: x.ended} }

// blanksAfter is how many blank lines stand behind an item.
func (x index) blanksAfter(at int) int32 {
	if at == len(x.items)-1 {
		return x.trailing
	}
	return x.items[at+1].blanks
}

func (x index) lines() []string {
	lines := make([]string, len(x.items))
	for i, it := range x.items {
		lines[i] = it.line()
	}
	return lines
}

// identify gives equal members of the set the same id. An entry is what it says,
// wherever it stands, and so is any line that no text has twice. Other lines, such
// as a heading that every section has, are told apart by their place: those that
// the alignment pairs are the same. The ids are below the number that it returns.
func identify(base, mine, theirs *index) (ids int) {
	words := vocabulary{}
	b, m, t := words.number(base.lines()), words.number(mine.lines()), words.number(theirs.lines())
	mine.fromBase = align(b, m, len(words))
	byPlace := repeated(len(words), b, m, t)
	next := len(words)
	for _, x := range []struct {
		*index
		numbers []int
	}{{base, b}, {mine, m}, {theirs, t}} {
		for i, n := range x.numbers {
			id := n
			if byPlace[n] && !isEntry(x.items[i].line()) {
				id = next
				next++
			}
			x.items[i].id = int32(id)
		}
	}
	same(base, mine, mine.fromBase, 0)
	// Both sides may have added such a line: it is the same if the line before it
	// is, or else each belongs to what its own side added.
	same(mine, theirs, align(m, t, len(words)), 1)
	same(base, theirs, align(b, t, len(words)), 0)
	return next
}

// same gives the lines of y the ids of those of x that they are paired with, but
// for the first few of each run.
func same(x, y *index, spans []span, but int) {
	for _, s := range spans {
		for i := but; i < s.n; i++ {
			y.items[s.b+i].id = x.items[s.a+i].id
		}
	}
}

// repeated says which lines occur twice or more in one of the texts.
func repeated(words int, texts ...[]int) []bool {
	twice := make([]bool, words)
	for _, numbers := range texts {
		seen := make([]bool, words)
		for _, n := range numbers {
			twice[n] = twice[n] || seen[n]
			seen[n] = true
		}
	}
	return twice
}

// isEntry reports whether a line, which is not blank, is an item of an outermost
// list.
func isEntry(line string) bool {
	return line[0] != ' ' && line[0] != '\t' && isList(line)
}

// isList reports whether a line begins an item of a list: "- ", "* ", "+ ", "1. ",
// "1) ".
func isList(line string) bool {
	line = strings.TrimLeft(line, " \t")
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	sign, rest, found := strings.Cut(line[digits:], " ")
	if !found || rest == "" {
		return false
	}
	if digits > 0 {
		return sign == "." || sign == ")"
	}
	return sign == "-" || sign == "*" || sign == "+"
}

// headingLevel is the level of a Markdown heading, 0 for any other line.
func headingLevel(line string) int {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	if level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	return level
}
