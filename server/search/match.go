package search

import (
	"context"
	"slices"
	"strings"
)

// hit is one doc that a clause is in.
type hit struct {
	doc    int // its number in the index
	weight float64
}

// stretch is a range of positions that a sequence was found in.
type stretch struct{ from, to int }

// finder looks for clauses. It is used again and again, by one goroutine.
type finder struct {
	ctx     context.Context  //nolint:containedctx // of the one search that it is used for
	weights [largest]float32 // of the docs of one leaf
	marks   [largest]int
	found   []stretch
	ways    []way
	more    []way
	next    []stretch
}

// ended reports whether nobody waits for the search any more. What is found from
// then on is worth nothing.
func (f *finder) ended() bool { return f.ctx.Err() != nil }

// hits returns the docs that a clause is in, by number.
func (f *finder) hits(x *Index, c clause) []hit {
	var hits []hit
	for i, l := range x.leaves {
		if f.ended() {
			return nil
		}
		if len(c.any) == 1 && len(c.any[0]) == 1 {
			f.weighSlot(l, c.any[0][0])
		} else {
			f.weighClause(l, c)
		}
		for number := range l.docs {
			if weight := f.weights[number]; weight > 0 {
				hits = append(hits, hit{x.bases[i] + number, float64(weight)})
			}
		}
	}
	return hits
}

// weighSlot finds the weights of one word.
func (f *finder) weighSlot(l *leaf, s slot) {
	clear(f.weights[:len(l.docs)])
	l.each(s, func(number int, weight float32) { f.weights[number] += weight })
}

// weighClause finds the weights of a name or phrase, in the docs that have all
// words of one of its sequences.
func (f *finder) weighClause(l *leaf, c clause) {
	clear(f.weights[:len(l.docs)])
	for _, s := range c.any {
		clear(f.marks[:len(l.docs)])
		for i, one := range s {
			l.each(one, func(number int, _ float32) {
				if f.marks[number] == i {
					f.marks[number]++
				}
			})
		}
		for number, mark := range f.marks[:len(l.docs)] {
			if mark == len(s) {
				f.weights[number] = 1 // it may be here
			}
		}
	}
	for number, d := range l.docs {
		if f.weights[number] == 0 {
			continue
		}
		f.weights[number] = 0
		for _, at := range f.stretches(d, c) {
			f.weights[number] += d.weightAt(at.from)
		}
	}
}

// each calls visit for every doc of the leaf with a term that the slot means, and
// what the term weighs there. For a prefix it may name a doc several times.
func (l *leaf) each(s slot, visit func(number int, weight float32)) {
	dict := l.dict.Load()
	if dict == nil {
		for number, d := range l.docs {
			for i := d.find(s.term); i < d.terms() && s.means(d.term(i)); i++ {
				visit(number, d.weigh(d.positions(i)))
			}
		}
		return
	}
	i, _ := slices.BinarySearch(dict.terms, s.term)
	for ; i < len(dict.terms) && s.means(dict.terms[i]); i++ {
		for _, r := range dict.of(i) {
			visit(int(r.doc), r.weight)
		}
	}
}

// means reports whether a slot means a term, of those from its own on.
func (s slot) means(term string) bool {
	if s.prefix {
		return strings.HasPrefix(term, s.term)
	}
	return term == s.term
}

// stretches returns where a clause is in a doc, in order, each once. It is valid
// until the next call.
func (f *finder) stretches(d *doc, c clause) []stretch {
	f.found = f.found[:0]
	for _, s := range c.any {
		f.row(d, s)
	}
	slices.SortFunc(f.found, func(a, b stretch) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	f.found = slices.CompactFunc(f.found, func(a, b stretch) bool { return a.from == b.from })
	return f.found
}

// way is a beginning of a sequence that was found: it began at from, its last
// word is at at, and it covers positions before to.
type way struct{ from, at, to int }

// row adds the stretches of one sequence to found. Of several ways to one
// position only the shortest goes on, so that the work grows with the text alone.
func (f *finder) row(d *doc, s sequence) {
	f.ways = f.ways[:0]
	for i, one := range s {
		if f.ended() {
			return // a long text has many words to look for: this is where the time goes
		}
		f.next = d.stretchesOf(one, f.next[:0])
		if i == 0 {
			for _, at := range f.next {
				f.ways = append(f.ways, way{at.from, at.from, at.to})
			}
		} else if f.follow(one); len(f.ways) == 0 {
			return
		}
	}
	for _, w := range f.ways {
		f.found = append(f.found, stretch{w.from, w.to})
	}
}

// follow makes of ways, which are in the order of their ends, those that one of
// next goes on with.
func (f *finder) follow(one slot) {
	f.more = f.more[:0]
	before, same := 0, 0 // the ways that end a gap before, and at the same position
	for _, at := range f.next {
		for before < len(f.ways) && f.ways[before].at < at.from-one.gap {
			before++
		}
		for same < len(f.ways) && f.ways[same].at < at.from {
			same++
		}
		from, to := -1, at.to
		if before < len(f.ways) && f.ways[before].at == at.from-one.gap {
			from, to = f.ways[before].from, max(to, f.ways[before].to)
		}
		if one.near && same < len(f.ways) && f.ways[same].at == at.from && f.ways[same].from > from {
			from, to = f.ways[same].from, max(at.to, f.ways[same].to)
		}
		if from >= 0 {
			f.more = append(f.more, way{from, at.from, to})
		}
	}
	f.ways, f.more = f.more, f.ways
}

// stretchesOf appends where one slot is, in order.
func (d *doc) stretchesOf(s slot, out []stretch) []stretch {
	terms := 0
	for i := d.find(s.term); i < d.terms() && s.means(d.term(i)); i++ {
		terms++
		p := d.positions(i)
		for at, ok := p.next(); ok; at, ok = p.next() {
			out = append(out, stretch{at, at + s.width})
		}
	}
	if terms > 1 {
		slices.SortFunc(out, func(a, b stretch) int { return a.from - b.from })
		out = slices.Compact(out)
	}
	return out
}
