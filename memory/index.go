package memory

import (
	"slices"
	"strings"
)

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

	// inBase is where a line is in base, by its id, and so for the others: the
	// first place of several, nowhere for none.
	inBase, inMine, inTheirs []int32
	// added holds the lines of mine that go before a line of theirs, or last of
	// all, as places in both.
	added map[int][]int
}

const nowhere = -1

func newIndexMerge(base, mine, theirs index) *indexMerge {
	ids := identify(&base, &mine, &theirs)
	return &indexMerge{
		base: base, mine: mine, theirs: theirs,
		inBase: places(base, ids), inMine: places(mine, ids), inTheirs: places(theirs, ids),
		added: map[int][]int{},
	}
}

func places(x index, ids int) []int32 {
	at := slices.Repeat([]int32{nowhere}, ids)
	for i, it := range x.items {
		if at[it.id] == nowhere {
			at[it.id] = int32(i)
		}
	}
	return at
}

// place finds a place for every line that mine added. It follows the edits from
// base to mine; next is the line of theirs before which an addition goes.
func (m *indexMerge) place() {
	next, line := 0, 0
	taken := make([]bool, len(m.inMine))
	for _, e := range append(edits(m.mine.fromBase, len(m.base.items), len(m.mine.items)), edit{b0: len(m.mine.items), b1: len(m.mine.items)}) {
		for ; line < e.b0; line++ {
			next = m.after(m.mine.items[line].id, next)
		}
		// What replaces a line goes to its place.
		for _, gone := range m.base.items[e.a0:e.a1] {
			if m.inMine[gone.id] == nowhere {
				next = m.after(gone.id, next)
			}
		}
		for ; line < e.b1; line++ {
			it := m.mine.items[line]
			if m.inTheirs[it.id] != nowhere || m.inBase[it.id] != nowhere || taken[it.id] {
				next = m.after(it.id, next)
				continue
			}
			taken[it.id] = true
			if level := headingLevel(it.line()); level > 0 {
				next = m.beforeSection(next, level)
			}
			m.added[next] = append(m.added[next], line)
		}
	}
}

// after is the place behind a line in theirs, or the present one for a line that
// theirs does not have.
func (m *indexMerge) after(id int32, present int) int {
	if at := m.inTheirs[id]; at != nowhere {
		return int(at) + 1
	}
	return present
}

// beforeSection moves a place behind what theirs alone has there, up to a heading
// of the same or a higher level.
func (m *indexMerge) beforeSection(next, level int) int {
	for ; next < len(m.theirs.items); next++ {
		it := m.theirs.items[next]
		other := headingLevel(it.line())
		if m.inBase[it.id] != nowhere || m.inMine[it.id] != nowhere || other > 0 && other <= level {
			break
		}
	}
	return next
}

// chosen is a line of the result: of theirs, or added by mine.
type chosen struct {
	mine bool
	at   int // in its own text
}

func (m *indexMerge) of(c chosen) index {
	if c.mine {
		return m.mine
	}
	return m.theirs
}

func (m *indexMerge) item(c chosen) item { return m.of(c).items[c.at] }

func (m *indexMerge) choose() []chosen {
	list := make([]chosen, 0, len(m.theirs.items)+len(m.mine.items))
	for i := range len(m.theirs.items) + 1 {
		for _, line := range m.added[i] {
			list = append(list, chosen{true, line})
		}
		if i == len(m.theirs.items) {
			break
		}
		if id := m.theirs.items[i].id; m.inBase[id] == nowhere || m.inMine[id] != nowhere {
			list = append(list, chosen{false, i})
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
	out.lines = make([]string, 0, len(list)*2)
	blank := func(n int32) {
		for range n {
			out.lines = append(out.lines, style.cr)
		}
	}
	for i, c := range list {
		if i > 0 {
			blank(m.blanks(list[i-1], c))
		} else if c.at == 0 {
			blank(m.item(c).blanks)
		}
		raw := m.item(c).raw
		if c.mine {
			raw = strings.TrimSuffix(raw, "\r") + style.cr
		}
		out.lines = append(out.lines, raw)
	}
	blank(m.trailing(list[len(list)-1]))
	return out
}

// trailing is how many blank lines stand after the last line: those of the text
// in which it is the last one as well.
func (m *indexMerge) trailing(last chosen) int32 {
	if !last.mine && last.at == len(m.theirs.items)-1 {
		return m.theirs.trailing
	}
	if at := m.inMine[m.item(last).id]; at != nowhere && int(at) == len(m.mine.items)-1 {
		return m.mine.trailing
	}
	return 0
}

// blanks is how many blank lines go between two lines: as many as in theirs or in
// mine, if they follow each other there.
func (m *indexMerge) blanks(before, after chosen) int32 {
	x, y := m.item(before), m.item(after)
	if !before.mine && !after.mine && before.at+1 == after.at {
		return y.blanks
	}
	p, q := m.inMine[x.id], m.inMine[y.id]
	if p != nowhere && q == p+1 {
		return m.mine.items[q].blanks
	}
	if isList(x.line()) && isList(y.line()) {
		// The blank line between a heading and its list is none of the list's.
		if left := after.at - 1; left >= 0 && isList(m.of(after).items[left].line()) {
			return y.blanks
		}
		return 0
	}
	return max(y.blanks, m.of(before).blanksAfter(before.at))
}
