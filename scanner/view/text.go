package view

import "sort"

// Text is a text made from a raw one, with the way back. It is a value: it never
// changes, and may be used by several goroutines. The zero value is the empty
// text.
type Text struct {
	s string
	// parent is what s was made from by changes; nil when s is the raw text.
	parent  *Text
	changes []change
}

// change says that bytes [at,end) of a text were made from bytes [from,to) of
// its parent; at == end where those were dropped. Between two changes both texts
// are the same. Changes are in order, they do not overlap, and from < to.
// 32 bits keep the list of a text of nothing but escapes at ten times its bytes.
type change struct {
	at, end, from, to int32
	// bits is how many of the made bits one byte of the parent stands for, where
	// that is the same all along, as in base64 (6): then a part of the change has
	// its own origin. 0 where only the whole has.
	bits int32
}

// beside is how far from a change a match may be that is another one because of
// it: a pattern looks at what stands before and after a secret.
const beside = 2

// Of returns raw as it stands. It costs nothing.
func Of(raw string) Text { return Text{s: raw} }

// String returns the text. A view of a text that is not UTF-8 is not either, and
// neither need be what [Decode] returns.
func (t Text) String() string { return t.s }

// Origin returns the smallest span of the raw text that made bytes [start,end)
// of t, without what was dropped before and after them. It is never empty when
// start < end. Positions outside t count as its nearest end.
func (t Text) Origin(start, end int) (from, to int) {
	start = min(max(start, 0), len(t.s))
	end = min(max(end, start), len(t.s))
	if t.parent == nil {
		return start, end
	}
	if start == end {
		from, to = t.gap(start)
	} else {
		from, _ = t.source(start)
		_, to = t.source(end - 1)
	}
	return t.parent.Origin(from, to)
}

// gap returns the place in the parent of the empty span at position at.
func (t Text) gap(at int) (from, to int) {
	switch {
	case at < len(t.s):
		from, _ = t.source(at)
	case at > 0:
		_, from = t.source(at - 1)
	}
	return from, from
}

// source returns the bytes of the parent that made byte i.
func (t Text) source(i int) (from, to int) {
	after := sort.Search(len(t.changes), func(n int) bool { return int(t.changes[n].at) > i })
	if after == 0 {
		return i, i + 1
	}
	c := t.changes[after-1]
	if i >= int(c.end) {
		from = int(c.to) + i - int(c.end)
		return from, from + 1
	}
	if c.bits == 0 {
		return int(c.from), int(c.to)
	}
	k, bits := i-int(c.at), int(c.bits)
	from = int(c.from) + 8*k/bits
	return from, min(int(c.from)+(8*k+7+bits)/bits, int(c.to))
}

// Touched reports whether bytes [start,end) of t, or what stands directly beside
// them, differ from the text that t was made from, be it that something between
// two of them was dropped. Where it is false, a search has seen them already in
// that text, and it is false everywhere for what [Of] returns.
func (t Text) Touched(start, end int) bool {
	n := t.firstAfter(start)
	return start < end && n < len(t.changes) && int(t.changes[n].at) < end+beside
}

// firstAfter returns the number of the first change that reaches beyond position
// at, with what is beside it.
func (t Text) firstAfter(at int) int {
	return sort.Search(len(t.changes), func(n int) bool { return int(t.changes[n].end)+beside > at })
}

// NextTouched returns the first stretch at or after from that is touched, as
// [Text.Touched] has it, and false when there is none. Stretches are not empty
// and as long as can be, so that the next one is found from end on.
func (t Text) NextTouched(from int) (start, end int, ok bool) {
	from = max(from, 0)
	n := t.firstAfter(from)
	if n == len(t.changes) {
		return 0, 0, false
	}
	start = max(from, int(t.changes[n].at)-beside)
	for ; n < len(t.changes) && int(t.changes[n].at)-beside <= max(end, start); n++ {
		end = int(t.changes[n].end) + beside
	}
	end = min(end, len(t.s))
	return start, end, start < end
}
