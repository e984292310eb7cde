package pattern

import (
	"regexp/syntax"
	"slices"
	"strings"
)

// maxWords bounds how many spellings of a part of a pattern are followed.
const maxWords = 256

// words are the texts, in lower case, with which a match of a part can begin.
type words struct {
	texts []string
	whole bool // each is a whole match, so that what follows can be appended
}

// Begins returns every text, in lower case, with which a match can begin, as
// far as the pattern spells it out. One of them is "" when a match can begin
// with anything.
func (p Pattern) Begins() []string { return begins(p.root).texts }

// Holds reports whether every match holds one of keywords, which are in lower
// case, whatever the case in the text.
func (p Pattern) Holds(keywords []string) bool { return holds(p.root, keywords) }

// Offset returns how far from the beginning of every match one of keywords
// stands, if that is the same for all of them.
func (p Pattern) Offset(keywords []string) (offset int, ok bool) {
	if allBegin(begins(p.root).texts, keywords) {
		return 0, true
	}
	re := p.root
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op != syntax.OpConcat {
		return 0, false
	}
	for i, sub := range re.Sub {
		rest := &syntax.Regexp{Op: syntax.OpConcat, Sub: re.Sub[i:], Flags: re.Flags}
		if allBegin(begins(rest).texts, keywords) {
			return offset, true
		}
		least, most := bounds(sub)
		if least != most {
			return 0, false
		}
		offset += least
	}
	return 0, false
}

func allBegin(texts, keywords []string) bool {
	for _, text := range texts {
		if !slices.ContainsFunc(keywords, func(k string) bool { return strings.HasPrefix(text, k) }) {
			return false
		}
	}
	return len(texts) > 0
}

func holds(re *syntax.Regexp, keywords []string) bool {
	if w := begins(re); w.whole {
		return allHold(w.texts, keywords)
	}
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return holds(re.Sub[0], keywords)
	case syntax.OpRepeat:
		return re.Min > 0 && holds(re.Sub[0], keywords)
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !holds(sub, keywords) })
	case syntax.OpConcat:
		for i := range re.Sub {
			if holds(re.Sub[i], keywords) {
				return true
			}
			rest := &syntax.Regexp{Op: syntax.OpConcat, Sub: re.Sub[i:], Flags: re.Flags}
			if allHold(begins(rest).texts, keywords) {
				return true
			}
		}
	}
	return false
}

func allHold(texts, keywords []string) bool {
	for _, text := range texts {
		if !slices.ContainsFunc(keywords, func(k string) bool { return strings.Contains(text, k) }) {
			return false
		}
	}
	return len(texts) > 0
}

var anything = words{texts: []string{""}}

func begins(re *syntax.Regexp) words {
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return words{[]string{""}, true}
	case syntax.OpLiteral:
		return words{[]string{strings.ToLower(string(re.Rune))}, true}
	case syntax.OpCharClass:
		return classWords(re)
	case syntax.OpCapture:
		return begins(re.Sub[0])
	case syntax.OpQuest:
		w := begins(re.Sub[0])
		return words{append(slices.Clone(w.texts), ""), w.whole}.tidy()
	case syntax.OpPlus:
		return words{begins(re.Sub[0]).texts, false}
	case syntax.OpRepeat:
		return repeated(re)
	case syntax.OpConcat:
		return joined(re.Sub)
	case syntax.OpAlternate:
		all := words{whole: true}
		for _, sub := range re.Sub {
			w := begins(sub)
			all.texts, all.whole = append(all.texts, w.texts...), all.whole && w.whole
		}
		return all.tidy()
	}
	return anything
}

// repeated follows a small count that is the same for every match.
func repeated(re *syntax.Regexp) words {
	if re.Min == 0 {
		return anything
	}
	const few = 8
	if re.Min != re.Max || re.Min > few {
		return words{begins(re.Sub[0]).texts, false}
	}
	return joined(slices.Repeat(re.Sub, re.Min))
}

// joined appends the words of parts that follow each other.
func joined(parts []*syntax.Regexp) words {
	all := words{[]string{""}, true}
	for _, part := range parts {
		next := begins(part)
		if len(all.texts)*len(next.texts) > maxWords {
			return words{all.texts, false}
		}
		var texts []string
		for _, text := range all.texts {
			for _, more := range next.texts {
				texts = append(texts, text+more)
			}
		}
		all = words{texts, next.whole}.tidy()
		if !all.whole {
			break
		}
	}
	return all
}

// classWords spells out classes of a few characters, such as [Ss].
func classWords(class *syntax.Regexp) words {
	const few = 12
	var texts []string
	count := 0
	eachRange(class, func(lo, hi rune) {
		if count += int(hi-lo) + 1; count <= few {
			for r := lo; r <= hi; r++ {
				texts = append(texts, strings.ToLower(string(r)))
			}
		}
	})
	if count > few {
		return anything
	}
	return words{texts, true}.tidy()
}

// tidy drops doubles, and gives up on more than can be followed.
func (w words) tidy() words {
	slices.Sort(w.texts)
	w.texts = slices.Compact(w.texts)
	if len(w.texts) > maxWords {
		return anything
	}
	return w
}
