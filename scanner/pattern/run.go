package pattern

import (
	"regexp/syntax"
	"unicode/utf8"
)

// Run is a stretch of characters of one class that every match of a pattern
// holds.
type Run struct {
	set   Set
	wide  bool // characters beyond ASCII belong to the class
	least int  // bytes
	from  int  // the most characters before it, Unbounded for no bound
	drawn bool // it is long, and may have digits: without any, and without capitals, it is no secret
}

// longDrawn is the length from which a stretch of small letters alone, of a class
// that has digits and capitals too, is a word, a name or a path: of 62 characters
// drawn 16 times, one text in a million has nothing else.
const longDrawn = 16

// LongestRun returns the longest stretch of one class that every match holds, and
// whether there is one of least bytes.
func (p Pattern) LongestRun(least int) (*Run, bool) {
	found, from := longestRun(p.root)
	if found == nil || found.Min < least {
		return nil, false
	}
	run := &Run{set: *Pattern{found}.Characters(), least: found.Min, from: from}
	run.drawn = run.least >= longDrawn && run.set['0'] && run.set['9'] && run.set['A']
	eachRange(found.Sub[0], func(_, hi rune) { run.wide = run.wide || hi >= utf8.RuneSelf })
	return run, true
}

// longestRun returns the repeated class of which every match holds the most
// characters, nil for none, and the most characters before it.
func longestRun(re *syntax.Regexp) (longest *syntax.Regexp, from int) {
	switch re.Op {
	case syntax.OpCapture:
		return longestRun(re.Sub[0])
	case syntax.OpRepeat:
		if re.Sub[0].Op == syntax.OpCharClass {
			return re, 0
		}
	case syntax.OpConcat:
		before := 0
		for _, sub := range re.Sub {
			if found, at := longestRun(sub); found != nil && (longest == nil || found.Min > longest.Min) {
				longest, from = found, sum(before, at)
			}
			before = sum(before, mostRunes(sub))
		}
	}
	return longest, from
}

// mostRunes returns the greatest length of a match in characters.
func mostRunes(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpQuest:
		return mostRunes(re.Sub[0])
	case syntax.OpRepeat:
		if most := mostRunes(re.Sub[0]); most != Unbounded && re.Max >= 0 {
			return most * re.Max
		}
		return Unbounded
	case syntax.OpConcat:
		most := 0
		for _, sub := range re.Sub {
			most = sum(most, mostRunes(sub))
		}
		return most
	case syntax.OpAlternate:
		most := 0
		for _, sub := range re.Sub {
			n := mostRunes(sub)
			if n == Unbounded {
				return Unbounded
			}
			most = max(most, n)
		}
		return most
	case syntax.OpStar, syntax.OpPlus:
		return Unbounded
	}
	return 0
}

// In reports whether text, which a match would begin, holds such a stretch where
// the match can have it.
func (r *Run) In(text string) bool {
	if r.from != Unbounded {
		text = text[:min(len(text), r.from*utf8.UTFMax+r.least)]
	}
	for end := r.least; end <= len(text); {
		from := end
		for from > end-r.least && r.holds(text[from-1]) {
			from--
		}
		if from == end-r.least {
			if r.drawn {
				if next := r.worded(text, from); next > from {
					end = next + r.least
					continue
				}
			}
			return r.from == Unbounded || from <= r.from || utf8.RuneCountInString(text[:from]) <= r.from
		}
		end = from + r.least // text[from-1] belongs to no stretch
	}
	return false
}

// worded returns where the stretch at from ends when it has neither digits nor
// capitals, or else from.
func (r *Run) worded(text string, from int) int {
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z':
			return from
		case !r.holds(c):
			return i
		}
	}
	return from // it may go on
}

func (r *Run) holds(c byte) bool {
	if c >= utf8.RuneSelf {
		return r.wide
	}
	return r.set[c]
}
