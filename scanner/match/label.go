package match

import (
	"strings"

	"github.com/teammem/teammemd/scanner/pattern"
	"github.com/teammem/teammemd/scanner/rules"
)

// label looks at what stands after a vendor's name, before an expression does:
// most mentions of a vendor are no assignments. It lets pass whatever the
// expression could match.
type label struct {
	least int          // bytes of the value
	value *pattern.Set // its characters
}

// The middle of gitleaks' patterns for labelled values: the rest of the label,
// an operator, and what may open the value.
const theirMiddle = `(?:[ \t\w.-]{0,20})[\s'"]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}(`

// labelOf returns the label of a rule whose pattern has gitleaks' form.
func labelOf(r rules.Rule, parsed pattern.Pattern) *label {
	before, _, ok := strings.Cut(r.Pattern, theirMiddle)
	if !ok || strings.Count(r.Pattern, theirMiddle) != 1 || strings.Contains(r.Pattern, `|\b(`) {
		return nil
	}
	groups := 1 + strings.Count(before, "(") - strings.Count(before, "(?") - strings.Count(before, `\(`)
	value, ok := parsed.Group(groups)
	if !ok {
		return nil
	}
	least, _ := value.Bounds()
	return &label{least, value.Characters()}
}

const (
	mostRest     = 64 // of the label, its own words included; theirs is 20 beyond them
	mostOperator = 12 // the operator, quotes and spaces
)

// fits reports whether an assignment of a value can follow text[at:], which
// begins with the vendor's name.
func (l *label) fits(text string, at int) bool {
	end := min(len(text), at+mostRest)
	for at < end && isLabel(text[at]) {
		at++
	}
	end = min(len(text), at+mostOperator)
	operator := false
	for at < end && isBetween(text[at]) {
		operator = operator || isOperator(text[at])
		at++
	}
	if !operator {
		return false
	}
	return l.holds(text, at)
}

// holds reports whether the value begins at or shortly before at: characters
// that stand between may belong to it.
func (l *label) holds(text string, at int) bool {
	for at > 0 && isBetween(text[at-1]) && text[at-1] < 0x80 && l.value[text[at-1]] {
		at--
	}
	if at+l.least > len(text) {
		return false
	}
	for i := at; i < at+l.least; i++ {
		if text[i] >= 0x80 || !l.value[text[i]] {
			return false
		}
	}
	return true
}

func isLabel(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' ||
		c == '_' || c == '.' || c == '-' || c == ' ' || c == '\t'
}

func isOperator(c byte) bool { return strings.IndexByte("=>:|?,", c) >= 0 }

func isBetween(c byte) bool {
	return isOperator(c) || strings.IndexByte(" \t\r\n\v\f'\"`", c) >= 0
}
