package pattern

import (
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unbounded is the length of what has no upper bound.
const Unbounded = -1

// Pattern is a parsed regular expression. It is not changed after [Parse] and
// is safe for concurrent use.
type Pattern struct{ root *syntax.Regexp }

// Parse reads an expression in the syntax of package regexp.
func Parse(expression string) (Pattern, error) {
	root, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return Pattern{}, fmt.Errorf("reading a pattern: %w", err)
	}
	return Pattern{root}, nil
}

// Bounds returns the least and the greatest length of a match, the latter
// [Unbounded] where there is none.
func (p Pattern) Bounds() (least, most int) { return bounds(p.root) }

func bounds(re *syntax.Regexp) (least, most int) {
	switch re.Op {
	case syntax.OpNoMatch, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText,
		syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return 0, 0
	case syntax.OpLiteral:
		n := len(string(re.Rune))
		return n, n
	case syntax.OpCharClass:
		return width(re)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, utf8.UTFMax
	case syntax.OpCapture:
		return bounds(re.Sub[0])
	case syntax.OpStar:
		return 0, times(re.Sub[0], Unbounded)
	case syntax.OpPlus:
		least, _ = bounds(re.Sub[0])
		return least, times(re.Sub[0], Unbounded)
	case syntax.OpQuest:
		_, most = bounds(re.Sub[0])
		return 0, most
	case syntax.OpRepeat:
		least, _ = bounds(re.Sub[0])
		return least * re.Min, times(re.Sub[0], re.Max)
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			l, m := bounds(sub)
			least, most = least+l, sum(most, m)
		}
		return least, most
	case syntax.OpAlternate:
		least, most = bounds(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			l, m := bounds(sub)
			least = min(least, l)
			if most != Unbounded && (m == Unbounded || m > most) {
				most = m
			}
		}
		return least, most
	}
	return 0, Unbounded
}

// times is the greatest length of n repetitions.
func times(re *syntax.Regexp, n int) int {
	_, most := bounds(re)
	if most == 0 {
		return 0
	}
	if most == Unbounded || n == Unbounded {
		return Unbounded
	}
	return most * n
}

func sum(a, b int) int {
	if a == Unbounded || b == Unbounded {
		return Unbounded
	}
	return a + b
}

// width returns the lengths of the characters of a class.
func width(class *syntax.Regexp) (least, most int) {
	least = utf8.UTFMax
	eachRange(class, func(lo, hi rune) {
		least, most = min(least, utf8.RuneLen(lo)), max(most, utf8.RuneLen(hi))
	})
	return min(least, most), most
}

// eachRange calls do with the ranges of a class, folded letters left out.
func eachRange(class *syntax.Regexp, do func(lo, hi rune)) {
	const longS, kelvin = '\u017f', '\u212a'
	for i := 0; i < len(class.Rune); i += 2 {
		lo, hi := class.Rune[i], class.Rune[i+1]
		if lo == hi && (lo == longS || lo == kelvin) {
			continue
		}
		do(lo, min(hi, utf8.MaxRune))
	}
}

// Solid reports whether no match holds white space (ASCII).
func (p Pattern) Solid() bool {
	for _, c := range []byte(" \t\n\r\f") {
		if p.Characters()[c] {
			return false
		}
	}
	return true
}

// Set is a set of ASCII characters.
type Set [utf8.RuneSelf]bool

// Characters returns the ASCII characters that a match can hold.
func (p Pattern) Characters() *Set {
	var set Set
	gather(p.root, &set)
	return &set
}

func gather(re *syntax.Regexp, set *Set) {
	add := func(lo, hi rune) {
		for r := lo; r <= min(hi, utf8.RuneSelf-1); r++ {
			set[r] = true
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			add(r, r)
			if re.Flags&syntax.FoldCase != 0 && r < utf8.RuneSelf {
				for _, folded := range strings.ToLower(string(r)) + strings.ToUpper(string(r)) {
					add(folded, folded)
				}
			}
		}
	case syntax.OpCharClass:
		eachRange(re, add)
	case syntax.OpAnyChar:
		add(0, utf8.RuneSelf-1)
	case syntax.OpAnyCharNotNL:
		add(0, '\n'-1)
		add('\n'+1, utf8.RuneSelf-1)
	}
	for _, sub := range re.Sub {
		gather(sub, set)
	}
}

// Marks returns the ASCII characters, but for letters, digits and white space,
// that every match holds, sorted.
func (p Pattern) Marks() string {
	set := marks(p.root)
	var out strings.Builder
	for c, in := range set {
		if in {
			out.WriteByte(byte(c)) //nolint:gosec // ASCII
		}
	}
	return out.String()
}

func marks(re *syntax.Regexp) (set Set) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r > ' ' && r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				set[r] = true
			}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return marks(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return marks(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			for c, in := range marks(sub) {
				set[c] = set[c] || in
			}
		}
	case syntax.OpAlternate:
		set = marks(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			other := marks(sub)
			for c := range set {
				set[c] = set[c] && other[c]
			}
		}
	}
	return set
}

// Class returns the inside of a character class for the set.
func (s *Set) Class() string {
	var class strings.Builder
	for lo := 0; lo < len(s); lo++ {
		if !s[lo] {
			continue
		}
		hi := lo
		for hi+1 < len(s) && s[hi+1] {
			hi++
		}
		fmt.Fprintf(&class, `\x%02x`, lo)
		if hi > lo {
			fmt.Fprintf(&class, `-\x%02x`, hi)
		}
		lo = hi
	}
	return class.String()
}

// Group returns the pattern of a capturing group, counted from 1, and whether
// there is one.
func (p Pattern) Group(n int) (Pattern, bool) {
	if found := group(p.root, n); found != nil {
		return Pattern{found}, true
	}
	return Pattern{}, false
}

func group(re *syntax.Regexp, n int) *syntax.Regexp {
	if re.Op == syntax.OpCapture && re.Cap == n {
		return re.Sub[0]
	}
	for _, sub := range re.Sub {
		if found := group(sub, n); found != nil {
			return found
		}
	}
	return nil
}
