package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sizes of a snippet.
const (
	snippetRunes = 160 // about two lines of a terminal
	leadRunes    = 60  // before the first word that was found, at most
	windowWords  = 24  // positions that are looked at together
	maxFound     = 512 // stretches of one clause that are looked at
)

// Snippet is the place of an entry that shows best why it was found, as plain
// text in one line: what is white stands as one space, and control and format
// characters are left out. It is not escaped for anything.
type Snippet struct {
	Text string
	// Marks are the words that were found: ranges of Text in characters (code
	// points), in order, apart from each other.
	Marks [][2]int
	// Line is that of the first of them in the content, from 1; where none is in the
	// text, that of the text's first word. 0 for a content without words.
	Line int
}

// spot is one place where a clause was found.
type spot struct {
	stretch
	clause int
}

// snippet shows a doc.
func (f *finder) snippet(d *doc, clauses []clause) Snippet {
	var spots []spot
	for i, c := range clauses {
		taken := 0
		for _, at := range f.stretches(d, c) {
			if at.from < d.body {
				continue
			}
			if taken++; taken > maxFound {
				break
			}
			spots = append(spots, spot{at, i})
		}
	}
	slices.SortFunc(spots, func(a, b spot) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.clause - b.clause
	})
	if len(spots) == 0 {
		return d.show(d.gist(), nil)
	}
	return d.show(bestWindow(spots, len(clauses)))
}

// bestWindow returns the spots of the window with the most clauses, and of those
// with the most spots, the first.
func bestWindow(spots []spot, clauses int) (first int, marked []spot) {
	counts := make([]int, clauses)
	distinct, end, best, bestCount, bestDistinct := 0, 0, 0, 0, 0
	for begin := range spots {
		for end < len(spots) && spots[end].from-spots[begin].from < windowWords {
			if counts[spots[end].clause]++; counts[spots[end].clause] == 1 {
				distinct++
			}
			end++
		}
		if distinct > bestDistinct || distinct == bestDistinct && end-begin > bestCount {
			best, bestDistinct, bestCount = begin, distinct, end-begin
		}
		if counts[spots[begin].clause]--; counts[spots[begin].clause] == 0 {
			distinct--
		}
	}
	return spots[best].from, spots[best : best+bestCount]
}

// gist is the position of what tells most about a doc: its description, else its
// title, else its beginning.
func (d *doc) gist() int {
	at, weight := d.body, float32(1)
	for _, f := range d.fields[1:] { // the first is the key
		if weight == 1 || f.weight == weightDescription && weight != weightDescription {
			at, weight = f.from, f.weight
		}
	}
	return at
}

// show cuts a snippet out of the text, from a little before the position first.
func (d *doc) show(first int, marked []spot) Snippet {
	at, position := 0, d.body
	if block := (first - d.body) / stride; block < len(d.offsets) {
		at, position = int(d.offsets[block]), d.body+block*stride
	}
	var marks []span // bytes of the text
	begin := -1      // the byte of the first word
	for {
		w, ok := nextWord(d.text, at)
		if !ok || begin >= 0 && w.from-begin > utf8.UTFMax*snippetRunes {
			break
		}
		if position >= first && begin < 0 {
			begin = w.from
		}
		if slices.ContainsFunc(marked, func(s spot) bool { return position >= s.from && position < s.to }) {
			marks = append(marks, span{from: w.from, to: w.to})
		}
		at = w.to
		position++
		if begin >= 0 && len(marked) == 0 {
			break
		}
	}
	if begin < 0 {
		return Snippet{Text: line(d.text, 0, nil).Text}
	}
	s := line(d.text, lead(d.text, begin), marks)
	s.Line = 1 + strings.Count(d.text[:begin], "\n")
	return s
}

// lead returns where a snippet begins whose first word is at begin: at the
// beginning of its line, if that is near, else at a word.
func lead(text string, begin int) int {
	at := begin
	for n := 0; at > 0; n++ {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if r == '\n' {
			return at
		}
		if n == leadRunes {
			if space := strings.IndexFunc(text[at:begin], unicode.IsSpace); space >= 0 {
				return at + space
			}
			return at
		}
		at -= size
	}
	return at
}

// line makes the text of a snippet from a byte on, with marks that are ranges of
// bytes.
func line(text string, at int, marks []span) Snippet {
	var s Snippet
	var out strings.Builder
	runes := 0
	space := false // one is due before the next character
	for at < len(text) && runes < snippetRunes {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			space = runes > 0
		case r == utf8.RuneError && size == 1, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp): // left out
		default:
			if space {
				out.WriteByte(' ')
				runes++
			}
			space = false
			if len(marks) > 0 && at >= marks[0].from {
				if n := len(s.Marks); n > 0 && s.Marks[n-1][1] >= runes {
					s.Marks[n-1][1] = runes + 1
				} else {
					s.Marks = append(s.Marks, [2]int{runes, runes + 1})
				}
			}
			out.WriteRune(r)
			runes++
		}
		at += size
		for len(marks) > 0 && at >= marks[0].to {
			marks = marks[1:]
		}
	}
	s.Text = out.String()
	return s
}
