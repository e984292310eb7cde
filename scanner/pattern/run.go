package pattern

import "regexp/syntax"

// Run is a stretch of characters of one class.
type Run struct {
	set   Set
	wide  bool // characters beyond ASCII belong to the class
	least int
}

// LongestRun returns the longest stretch of one class that every match holds, and
// whether there is one of least bytes.
func (p Pattern) LongestRun(least int) (*Run, bool) {
	found := longestRun(p.root)
	if found == nil || found.Min < least {
		return nil, false
	}
	run := &Run{set: *Pattern{found}.Characters(), least: found.Min}
	eachRange(found.Sub[0], func(_, hi rune) { run.wide = run.wide || hi >= 0x80 })
	return run, true
}

// longestRun returns the repeated class of which every match holds the most
// characters, nil for none.
func longestRun(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return longestRun(re.Sub[0])
	case syntax.OpRepeat:
		if re.Sub[0].Op == syntax.OpCharClass {
			return re
		}
	case syntax.OpConcat:
		var longest *syntax.Regexp
		for _, sub := range re.Sub {
			if found := longestRun(sub); found != nil && (longest == nil || found.Min > longest.Min) {
				longest = found
			}
		}
		return longest
	}
	return nil
}

// In reports whether text holds such a stretch.
func (r *Run) In(text string) bool {
	for end := r.least; end <= len(text); {
		from := end
		for from > end-r.least && r.holds(text[from-1]) {
			from--
		}
		if from == end-r.least {
			return true
		}
		end = from + r.least // text[from-1] belongs to no stretch
	}
	return false
}

func (r *Run) holds(c byte) bool {
	if c >= 0x80 {
		return r.wide
	}
	return r.set[c]
}
