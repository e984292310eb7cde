package memory

import "slices"

// edit says that a[a0:a1] became b[b0:b1].
type edit struct{ a0, a1, b0, b1 int }

// edits lists what lies between the runs of equal lines.
func edits(spans []span, lenA, lenB int) []edit {
	var list []edit
	a, b := 0, 0
	for _, s := range append(slices.Clone(spans), span{lenA, lenB, 0}) {
		if a < s.a || b < s.b {
			list = append(list, edit{a, s.a, b, s.b})
		}
		a, b = s.a+s.n, s.b+s.n
	}
	return list
}

// hunk is a range of base, and what each side made of it.
type hunk struct {
	base0, base1     int
	mine0, mine1     int
	theirs0, theirs1 int
	// byMine and byTheirs say who edited something in it.
	byMine, byTheirs bool
}

// side goes through the edits of one side.
type side struct {
	edits []edit
	shift int // from a line of base to the same line here, after the edits that were taken
}

// take moves all edits that begin at or before end into the hunk's range, and
// reports whether there were any.
func (s *side) take(end *int) bool {
	taken := false
	for len(s.edits) > 0 && s.edits[0].a0 <= *end {
		e := s.edits[0]
		*end = max(*end, e.a1)
		s.shift += (e.b1 - e.b0) - (e.a1 - e.a0)
		s.edits = s.edits[1:]
		taken = true
	}
	return taken
}

// hunks joins the edits of both sides: those that overlap or touch are one hunk.
func hunks(mine, theirs []edit) []hunk {
	var list []hunk
	m, t := side{edits: mine}, side{edits: theirs}
	for len(m.edits) > 0 || len(t.edits) > 0 {
		h := hunk{base0: first(m.edits, t.edits)}
		h.base1 = h.base0
		h.mine0, h.theirs0 = h.base0+m.shift, h.base0+t.shift
		for {
			byMine, byTheirs := m.take(&h.base1), t.take(&h.base1)
			h.byMine, h.byTheirs = h.byMine || byMine, h.byTheirs || byTheirs
			if !byMine && !byTheirs {
				break
			}
		}
		h.mine1, h.theirs1 = h.base1+m.shift, h.base1+t.shift
		list = append(list, h)
	}
	return list
}

// first is where the next edit begins; one side has one.
func first(mine, theirs []edit) int {
	switch {
	case len(mine) == 0:
		return theirs[0].a0
	case len(theirs) == 0:
		return mine[0].a0
	}
	return min(mine[0].a0, theirs[0].a0)
}

// threeWay is a merge of three texts by lines.
type threeWay struct {
	base, mine, theirs text
	hunks              []hunk
}

func compare(base, mine, theirs string) threeWay {
	w := threeWay{base: split(base), mine: split(mine), theirs: split(theirs)}
	words := vocabulary{}
	b, m, t := words.number(w.base.lines), words.number(w.mine.lines), words.number(w.theirs.lines)
	w.hunks = hunks(
		edits(align(b, m, len(words)), len(b), len(m)),
		edits(align(b, t, len(words)), len(b), len(t)),
	)
	return w
}

// resolve returns the lines of a hunk, false when both sides edited it, and
// differently.
func (w threeWay) resolve(h hunk) ([]string, bool) {
	mine, theirs := w.mine.lines[h.mine0:h.mine1], w.theirs.lines[h.theirs0:h.theirs1]
	switch {
	case !h.byTheirs, slices.Equal(mine, theirs):
		return mine, true
	case !h.byMine:
		return theirs, true
	}
	return nil, false
}

// merge puts the text together; conflict is asked for the lines of a hunk that
// does not resolve, and may end the merge.
func (w threeWay) merge(conflict func(mine, theirs []string) ([]string, bool)) (text, bool) {
	merged := text{ended: ending(w.base, w.mine, w.theirs)}
	at := 0
	for _, h := range w.hunks {
		merged.lines = append(merged.lines, w.base.lines[at:h.base0]...)
		at = h.base1
		lines, clean := w.resolve(h)
		if !clean {
			lines, clean = conflict(w.mine.lines[h.mine0:h.mine1], w.theirs.lines[h.theirs0:h.theirs1])
		}
		if !clean {
			return text{}, false
		}
		merged.lines = append(merged.lines, lines...)
	}
	merged.lines = append(merged.lines, w.base.lines[at:]...)
	return merged, true
}

// mergeLines is the merge of ordinary files.
func mergeLines(base, mine, theirs string) (string, bool) {
	merged, clean := compare(base, mine, theirs).merge(func(_, _ []string) ([]string, bool) { return nil, false })
	return merged.join(), clean
}
