package pattern

import "regexp/syntax"

// Head returns an expression that matches the beginning of every match, in at
// most so many bytes, and whether it says more than the first part of p does.
func (p Pattern) Head(most int) (expression string, length int, ok bool) {
	if p.root.Op != syntax.OpConcat {
		return "", 0, false
	}
	n := 0
	for _, sub := range p.root.Sub {
		_, more := bounds(sub)
		if more == Unbounded || length+more > most {
			break
		}
		length += more
		n++
	}
	if n < 2 || n == len(p.root.Sub) {
		return "", 0, false
	}
	return (&syntax.Regexp{Op: syntax.OpConcat, Sub: p.root.Sub[:n]}).String(), length, true
}
