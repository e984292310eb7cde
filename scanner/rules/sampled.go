package rules

import (
	"regexp/syntax"
	"strings"

	"github.com/teammem/teammemd/scanner/pattern"
	"github.com/teammem/teammemd/scanner/samples"
)

// Samples returns texts that the rule must find: its own, or some that are made
// from its pattern.
func (r Rule) Samples(s *samples.Source) []string {
	if r.Hits != nil {
		return r.Hits(s)
	}
	if before, _, ok := strings.Cut(r.Pattern, theirLabel+theirOperator); ok {
		return assigned(r, before, s)
	}
	re, err := syntax.Parse(r.Pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	return []string{drawn(re, s), drawn(re, s)}
}

// theirLabel is the rest of a label in gitleaks' patterns.
const theirLabel = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}`

// assigned makes assignments of a value to a vendor's name, whose pattern is
// names.
func assigned(r Rule, names string, s *samples.Source) []string {
	label, err := syntax.Parse(names, syntax.Perl)
	whole, err2 := syntax.Parse(r.Pattern, syntax.Perl)
	parsed, err3 := pattern.Parse(names)
	if err != nil || err2 != nil || err3 != nil {
		return nil
	}
	value := captured(whole, label.MaxCap()+1)
	if value == nil {
		return nil
	}
	name := strings.TrimRight(parsed.Begins()[0], ",")
	return []string{
		name + "_token = \"" + drawn(value, s) + "\"",
		name + ": " + drawn(value, s),
	}
}

func captured(re *syntax.Regexp, n int) *syntax.Regexp {
	if re.Op == syntax.OpCapture && re.Cap == n {
		return re.Sub[0]
	}
	for _, sub := range re.Sub {
		if found := captured(sub, n); found != nil {
			return found
		}
	}
	return nil
}

// drawn returns a random match of a part of a pattern, as short as it can be
// and as random.
func drawn(re *syntax.Regexp, s *samples.Source) string {
	var out strings.Builder
	draw(re, s, &out)
	return out.String()
}

func draw(re *syntax.Regexp, s *samples.Source, out *strings.Builder) {
	switch re.Op {
	case syntax.OpLiteral:
		out.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		out.WriteString(s.Text(members(re), 1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteString(s.Text(samples.Alnum, 1))
	case syntax.OpPlus:
		repeat(re.Sub[0], 4+s.IntN(4), s, out)
	case syntax.OpRepeat:
		repeat(re.Sub[0], re.Min, s, out)
	case syntax.OpAlternate:
		if re.Sub[0].Op == syntax.OpEndText { // what may follow a secret: nothing
			return
		}
		draw(re.Sub[s.IntN(len(re.Sub))], s, out)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			draw(sub, s, out)
		}
	}
}

// repeat draws the characters of a class together, so that few are the same.
func repeat(re *syntax.Regexp, n int, s *samples.Source, out *strings.Builder) {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	if re.Op == syntax.OpCharClass {
		out.WriteString(s.Text(members(re), n))
		return
	}
	for range n {
		draw(re, s, out)
	}
}

// members are the characters of a class from which samples are drawn: letters
// and digits where it has some.
func members(class *syntax.Regexp) string {
	var plain, all strings.Builder
	for i := 0; i < len(class.Rune); i += 2 {
		for r := max(class.Rune[i], ' '); r <= min(class.Rune[i+1], '~'); r++ {
			all.WriteRune(r)
			if isAlnum(byte(r)) { //nolint:gosec // ASCII
				plain.WriteRune(r)
			}
		}
	}
	switch {
	case plain.Len() > 1:
		return plain.String()
	case all.Len() > 0:
		return all.String()
	}
	return string(class.Rune[:1])
}
