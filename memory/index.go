package memory

import "slices"

// mergeIndex is the merge of MEMORY.md: the lines of theirs without those that
// mine removed from base, and with those that mine added. An added line goes
// after the line that it follows in mine, an edited one to where the old one is;
// a heading goes behind what theirs added there, so that it takes nothing under
// it that is not its own. Blank lines are no members of the set: they are put
// back between the lines that have them in theirs or in mine.
func mergeIndex(base, mine, theirs string) string {
	m := newIndexMerge(parseIndex(base), parseIndex(mine), parseIndex(theirs))
	m.place()
	return m.assemble().join()
}

type indexMerge struct {
	base, mine, theirs index

	inBase, inMine map[int]bool
	// at is where a line is in theirs, placed where it is in mine: the first of
	// several.
	at, placed map[int]int
	// added holds the lines of mine that go before each line of theirs, and at
	// its end those that go last, as places in mine.
	added [][]int
}

func newIndexMerge(base, mine, theirs index) *indexMerge {
	identify(&base, &mine, &theirs)
	return &indexMerge{
		base: base, mine: mine, theirs: theirs,
		inBase: members(base), inMine: members(mine),
		at: places(theirs), placed: places(mine),
		added: make([][]int, len(theirs.items)+1),
	}
}

func members(x index) map[int]bool {
	set := make(map[int]bool, len(x.items))
	for _, it := range x.items {
		set[it.id] = true
	}
	return set
}

func places(x index) map[int]int {
	at := make(map[int]int, len(x.items))
	for i, it := range x.items {
		if _, known := at[it.id]; !known {
			at[it.id] = i
		}
	}
	return at
}

// place finds a place for every line that mine added. It follows the edits from
// base to mine; next is the line of theirs before which an addition goes.
func (m *indexMerge) place() {
	next, line := 0, 0
	taken := map[int]bool{}
	for _, e := range append(edits(m.mine.fromBase, len(m.base.items), len(m.mine.items)), edit{b0: len(m.mine.items), b1: len(m.mine.items)}) {
		for ; line < e.b0; line++ {
			next = m.after(m.mine.items[line].id, next)
		}
		// What replaces a line goes to its place.
		for _, gone := range m.base.items[e.a0:e.a1] {
			if !m.inMine[gone.id] {
				next = m.after(gone.id, next)
			}
		}
		for ; line < e.b1; line++ {
			it := m.mine.items[line]
			if _, there := m.at[it.id]; there || m.inBase[it.id] || taken[it.id] {
				next = m.after(it.id, next)
				continue
			}
			taken[it.id] = true
			if level := headingLevel(it.line); level > 0 {
				next = m.beforeSection(next, level)
			}
			m.added[next] = append(m.added[next], line)
		}
	}
}

// after is the place behind a line in theirs, or the present one for a line that
// theirs does not have.
func (m *indexMerge) after(id, present int) int {
	if at, there := m.at[id]; there {
		return at + 1
	}
	return present
}

// beforeSection moves a place behind what theirs alone has there, up to a heading
// of the same or a higher level.
func (m *indexMerge) beforeSection(next, level int) int {
	for ; next < len(m.theirs.items); next++ {
		it := m.theirs.items[next]
		other := headingLevel(it.line)
		if m.inBase[it.id] || m.inMine[it.id] || other > 0 && other <= level {
			break
		}
	}
	return next
}

// chosen is a line of the result: of theirs, or added by mine.
type chosen struct {
	item
	mine bool
	at   int // in its own text
}

func (m *indexMerge) choose() []chosen {
	var list []chosen
	for i := range m.added {
		for _, line := range m.added[i] {
			list = append(list, chosen{m.mine.items[line], true, line})
		}
		if i == len(m.theirs.items) {
			break
		}
		if it := m.theirs.items[i]; !m.inBase[it.id] || m.inMine[it.id] {
			list = append(list, chosen{it, false, i})
		}
	}
	return list
}

// assemble writes the chosen lines with the blank ones between them.
func (m *indexMerge) assemble() text {
	style := m.theirs
	if len(style.items) == 0 {
		style = m.mine
	}
	out := text{ended: ending(m.base.end(), m.mine.end(), m.theirs.end())}
	list := m.choose()
	if len(list) == 0 {
		return out
	}
	for i, c := range list {
		blanks := 0
		switch {
		case i > 0:
			blanks = m.blanks(list[i-1], c)
		case c.at == 0:
			blanks = c.blanks
		}
		out.lines = append(out.lines, slices.Repeat([]string{style.cr}, blanks)...)
		raw := c.raw
		if c.mine {
			raw = c.bare + style.cr
		}
		out.lines = append(out.lines, raw)
	}
	out.lines = append(out.lines, slices.Repeat([]string{style.cr}, style.trailing)...)
	return out
}

// blanks is how many blank lines go between two lines: as many as in theirs or in
// mine, if they follow each other there.
func (m *indexMerge) blanks(before, after chosen) int {
	if !before.mine && !after.mine && before.at+1 == after.at {
		return after.blanks
	}
	p, known := m.placed[before.id]
	q, also := m.placed[after.id]
	if known && also && p+1 == q {
		return m.mine.items[q].blanks
	}
	own, left := m.of(after), after.at-1
	if isList(before.line) && isList(after.line) {
		// The blank line between a heading and its list is none of the list's.
		if left >= 0 && isList(own.items[left].line) {
			return after.blanks
		}
		return 0
	}
	blanks := after.blanks
	if right := before.at + 1; right < len(m.of(before).items) {
		blanks = max(blanks, m.of(before).items[right].blanks)
	}
	return blanks
}

func (m *indexMerge) of(c chosen) index {
	if c.mine {
		return m.mine
	}
	return m.theirs
}
